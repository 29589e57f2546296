"""The columns of the queue tree: a line for each resource of each queue, its amounts, and what fits the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from volcano_py.api.report import Amounts
from volcano_py.api.wording.amounts import numbers
from volcano_py.standing import Standing

GAP: Final = "  "
SHORTEST_BAR: Final = 6  # characters
LONGEST_BAR: Final = 20
LESS: Final = "!"
WITHIN, BEYOND, FREE = "█", "▓", "░"
_ROOM_FOR_NAMES: Final = 18  # characters, guides included; rather than less, columns are left out
_SPARE: Final = ("Weight", "Guarantee", "Pending", "Share")
"""What a narrow terminal does without, the first one first."""
_FIRST: Final = ("cpu", "memory")
_MOST_RESOURCES: Final = 6
_ALLOCATED: Final = "Allocated"
_AMOUNTS: Final = (_ALLOCATED, "Pending", "Guarantee", "Deserved", "Capability")


@dataclass(frozen=True, slots=True)
class Line:
    """One resource of one queue; an amount of None is not set."""

    resource: str
    weight: int
    share: float
    held: int
    pending: int
    guarantee: int
    is_kept: bool
    deserved: int | None
    capability: int | None
    limit: int | None

    @property
    def texts(self) -> tuple[str, ...]:
        """Held, pending, guarantee, deserved and capability; `-` for what is not set, `!` for what is not kept."""
        pending = self.pending or None
        guarantee = self.guarantee if self.guarantee or not self.is_kept else None
        amounts = (self.held, pending, guarantee, self.deserved, self.capability)
        texts = numbers(self.resource, *(units or 0 for units in amounts))
        held, waiting, kept, *rest = (
            "-" if units is None else text for text, units in zip(texts, amounts, strict=True)
        )
        return held, waiting, kept if self.is_kept else kept + LESS, *rest


@dataclass(frozen=True, slots=True)
class Column:
    heading: str
    cells: tuple[tuple[Text, ...], ...]
    """Of each queue, one for each of its lines."""
    is_text: bool = False

    @property
    def width(self) -> int:
        return max(len(self.heading), *(len(cell) for queue in self.cells for cell in queue))

    def cell(self, queue: int, line: int) -> Text:
        return self._padded(self.cells[queue][line])

    def head(self) -> Text:
        return self._padded(Text(self.heading, "dim"))

    def _padded(self, text: Text) -> Text:
        padded, room = text.copy(), self.width - len(text)
        padded.pad_right(room) if self.is_text else padded.pad_left(room)
        return padded


def lines_of(standings: Sequence[Standing]) -> list[list[Line]]:
    """The lines of each queue."""
    resources = _resources(standings)
    return [[_line(standing, resource) for resource in resources] for standing in standings]


def columns_of(lines: Sequence[Sequence[Line]]) -> list[Column]:
    """All but the bars. Weights and guarantees are left out where they say nothing."""
    every = [line for queue in lines for line in queue]
    columns = list(_weights_and_shares(lines, has_weights=any(line.weight != 1 for line in every)))
    columns.append(
        Column("", tuple(tuple(Text(line.resource, "dim") for line in queue) for queue in lines), is_text=True)
    )
    has_guarantees = any(line.guarantee or not line.is_kept for line in every)
    for at, heading in enumerate(_AMOUNTS):
        if heading != "Guarantee" or has_guarantees:
            columns.append(Column(heading, tuple(tuple(_amount(line.texts[at]) for line in queue) for queue in lines)))
    return columns


def with_bars(columns: Sequence[Column], lines: Sequence[Sequence[Line]], room: int) -> list[Column]:
    """The columns, with bars of at most `room` characters before the allocated amounts."""
    bar = max(SHORTEST_BAR, min(room - width_of(columns) - len(GAP), LONGEST_BAR))
    bars = Column("", tuple(tuple(_bar(line, bar) for line in queue) for queue in lines), is_text=True)
    at = next(at for at, column in enumerate(columns) if column.heading == _ALLOCATED)
    return [*columns[:at], bars, *columns[at:]]


def fitting(columns: Sequence[Column], wanted: int, width: int) -> tuple[list[Column], int]:
    """The columns that fit next to the names, and the width of the names, `wanted` if possible."""
    columns, left = list(columns), width - len(GAP) - SHORTEST_BAR
    for heading in _SPARE:
        if left - width_of(columns) >= min(wanted, _ROOM_FOR_NAMES):
            break
        columns = [column for column in columns if column.heading != heading]
    return columns, min(wanted, max(left - width_of(columns), _ROOM_FOR_NAMES))


def width_of(columns: Sequence[Column]) -> int:
    """Characters, with the gap before each column."""
    return sum(len(GAP) + column.width for column in columns)


def _resources(standings: Sequence[Standing]) -> list[str]:
    """cpu, and what any queue holds, waits for or is entitled to; not the places for pods, which no queue divides."""
    found: set[str] = {"cpu"}
    for standing in standings:
        report = standing.report
        for amounts in (report.allocated, report.request, report.deserved, report.guarantee, report.guarantee_not_kept):
            found.update(name for name, units in amounts.items() if units)
    ordered = sorted(found - {"pods"}, key=lambda name: (name not in _FIRST, name))
    return ordered[:_MOST_RESOURCES]


def _line(standing: Standing, resource: str) -> Line:
    report = standing.report

    def units(amounts: Amounts) -> int:
        return amounts.get(resource, 0)

    return Line(
        resource=resource,
        weight=report.weight,
        share=report.share,
        held=units(report.allocated),
        pending=units(standing.pending),
        guarantee=units(report.guarantee),
        is_kept=not units(report.guarantee_not_kept),
        deserved=report.deserved.get(resource),
        capability=report.capability.get(resource),
        limit=report.real_capability.get(resource, report.capability.get(resource)),
    )


def _weights_and_shares(lines: Sequence[Sequence[Line]], *, has_weights: bool) -> Iterator[Column]:
    if has_weights:
        yield Column("Weight", tuple(_once(Text(str(queue[0].weight)), queue) for queue in lines))
    shares = (Text(f"{queue[0].share:.2f}", "yellow" if queue[0].share > 1 else "") for queue in lines)
    yield Column("Share", tuple(_once(share, queue) for share, queue in zip(shares, lines, strict=True)))


def _once(text: Text, lines: Sequence[Line]) -> tuple[Text, ...]:
    """In the first line of a queue only."""
    return (text, *(Text() for _ in lines[1:]))


def _amount(text: str) -> Text:
    return Text(text, "yellow" if text.endswith(LESS) else "dim" if text in ("0", "-") else "")


def _bar(line: Line, width: int) -> Text:
    """How much of what the queue may have it holds, and how much of that is beyond what it deserves."""
    scale = max(line.limit or 0, line.held, line.deserved or 0)
    if not line.held or not scale:
        return Text(FREE * width, "dim")
    filled = max(round(width * line.held / scale), 1)
    within = filled
    if line.deserved is not None and line.held > line.deserved:
        within = min(filled - 1, round(width * line.deserved / scale))
    is_over = line.limit is not None and line.held > line.limit
    bar = Text(WITHIN * within, "red" if is_over else "green")
    bar.append(BEYOND * (filled - within), "red" if is_over else "yellow")
    return bar.append(FREE * (width - filled), "dim")
