"""The type of `--topology`: `2x4x8`."""

from __future__ import annotations

import math
from typing import Any, Final

import click

_MOST_NODES: Final = 10_000
_MOST_DIGITS: Final = len(str(_MOST_NODES))
_MOST_PARTS: Final = 1_000  # racks and spines; each is created by itself


class Shape(click.ParamType[tuple[int, int, int]]):
    """`2x4x8` → spines, racks in each, nodes in each of these."""

    name = "SPINESxRACKSxNODES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int, int]:
        if isinstance(value, tuple):
            return value
        parts = str(value).lower().split("x")
        numbers = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS]
        if len(parts) != 3 or len(numbers) != 3 or 0 in numbers:
            self.fail(f"{value!r} is not three numbers above 0; write for example 2x4x8", param, ctx)
        spines, racks, nodes = numbers
        if math.prod(numbers) > _MOST_NODES or spines * racks + spines > _MOST_PARTS:
            self.fail(
                f"{value!r} is {spines * racks * nodes} nodes in {spines * racks} racks; "
                f"at most {_MOST_NODES} nodes and {_MOST_PARTS} racks and spines are simulated",
                param,
                ctx,
            )
        return spines, racks, nodes
