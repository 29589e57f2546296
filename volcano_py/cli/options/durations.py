"""Go-style durations on the command line."""

from __future__ import annotations

from typing import Any

import click

from volcano_py.api.go_values import parse_duration


class _Duration(click.ParamType[float]):
    """`1m30s`, `500ms` → seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        try:
            seconds = parse_duration(value).total_seconds()
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < 0:
            self.fail(f"{value} is negative; give 0 or more", param, ctx)
        return seconds


DURATION = _Duration()
