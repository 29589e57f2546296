"""Amounts of resources on the command line: `cpu=4,memory=16Gi`."""

from __future__ import annotations

from typing import Any, Final

import click

from volcano_py.api.quantity import QuantityError, parse_quantity


class _Amounts(click.ParamType[dict[str, str]]):
    """`cpu=4,memory=16Gi` → the same as a map of the API."""

    name = "resource=amount,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        if isinstance(value, dict):
            return value
        amounts: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in str(value).split(","))):
            name, sign, amount = (text.strip() for text in part.partition("="))
            if not (name and sign):
                self.fail(f"{part!r} is not resource=amount; write for example cpu=4,memory=16Gi", param, ctx)
            if name in amounts:
                self.fail(f"{name} is given twice; give it once", param, ctx)
            try:
                is_negative = parse_quantity(amount) < 0
            except QuantityError as error:
                self.fail(f"{name}: {error}", param, ctx)
            if is_negative:
                self.fail(f"{name}: {amount} is negative; write 0 or more", param, ctx)
            amounts[name] = amount
        return amounts


AMOUNTS: Final = _Amounts()
"""`cpu=4,memory=16Gi`."""
