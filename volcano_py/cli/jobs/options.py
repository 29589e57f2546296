"""Values of `volcano-py job`'s options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from volcano_py.api.quantity import parse_quantity


class _Resources(click.ParamType[Mapping[str, str]]):
    """`cpu=1,memory=1Gi` → resource → quantity."""

    name = "resources"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Mapping[str, str]:
        if isinstance(value, Mapping):
            return value
        found: dict[str, str] = {}
        for part in str(value).split(","):
            resource, separator, quantity = (text.strip() for text in part.partition("="))
            if not resource or not separator:
                self.fail(f"{part!r} is no RESOURCE=QUANTITY; write such as cpu=2,memory=4Gi", param, ctx)
            if resource in found:
                self.fail(f"{resource} is given twice: {found[resource]} and {quantity}", param, ctx)
            try:
                amount = parse_quantity(quantity)
            except ValueError as error:
                self.fail(f"{resource}: {error}", param, ctx)
            if amount < 0:
                self.fail(f"{resource}: {quantity} is negative", param, ctx)
            found[resource] = quantity
        return found


RESOURCES: Final = _Resources()
