"""What a dashboard is made of, as values; `grafana` writes them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

TAG: Final = "volcano-py"


class Shape(StrEnum):
    """How a panel shows its queries; Grafana's names."""

    STAT = "stat"
    LINES = "timeseries"
    BARS = "bargauge"
    TABLE = "table"
    HEATMAP = "heatmap"


class Unit(StrEnum):
    """Grafana's names."""

    COUNT = "short"
    SECONDS = "s"
    BYTES = "bytes"
    SHARE = "percentunit"
    PER_SECOND = "ops"
    YES_OR_NO = "bool_yes_no"


class Target(msgspec.Struct, frozen=True):
    """One query and the name of its series, with `{{label}}` for what differs. In tables: the title of its column;
    without one it gives rows their keys, and its value is not shown."""

    query: str
    legend: str = ""
    unit: Unit | None = None
    """Of a column of a table that differs from the others."""


class Step(msgspec.Struct, frozen=True):
    """From this value on, this colour."""

    value: float
    color: str


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """`width` in 24ths of the page, `height` in Grafana's rows of 30 pixels."""

    title: str
    text: str
    """What it means and what to do about it: shown at the (i)."""
    shape: Shape = Shape.LINES
    unit: Unit = Unit.COUNT
    targets: tuple[Target, ...]
    width: int = 12
    height: int = 8
    stacked: bool = False
    steps: tuple[Step, ...] = ()
    """From the lowest; below it all is green."""
    words: tuple[tuple[int, str, str], ...] = ()
    """Values that are shown as a word: value, word, colour."""
    leads_to: str = ""
    """The uid of the dashboard that a click on a series opens, with its label `queue` as the queue."""
    keys: tuple[str, ...] = ()
    """Labels that are the first columns of a table."""


class Row(msgspec.Struct, frozen=True):
    title: str
    panels: tuple[Panel, ...]


class Variable(msgspec.Struct, frozen=True):
    """A choice at the top: the values of a label of a metric."""

    name: str
    title: str
    metric: str
    label: str
    many: bool = True
    default: str = ""
    """Of a variable with one value."""


class Dashboard(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    title: str
    text: str
    variables: tuple[Variable, ...] = ()
    rows: tuple[Row, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(panel for row in self.rows for panel in row.panels)
