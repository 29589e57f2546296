"""Queues as a tree with a line for each resource, in columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from volcano_py.api.report import Amounts
from volcano_py.api.wording.amounts import numbers
from volcano_py.api.wording.summarize import summarize
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.queues.standing import Standing

_SHORTEST_BAR, _LONGEST_BAR = 6, 20  # characters
_ROOM_FOR_NAMES: Final = 18  # characters, guides included; rather than less, columns are left out
_SHORTEST_NAME: Final = 8
_SPARE: Final = ("Weight", "Guarantee", "Pending", "Share")
"""What a narrow terminal does without, the first one first."""
_GUIDE: Final = 4  # characters that a level is indented by
_FIRST: Final = ("cpu", "memory")
_MOST_RESOURCES: Final = 6
_GAP: Final = "  "
_WITHIN, _BEYOND, _FREE = "█", "▓", "░"
_LEGEND: Final = f"{_WITHIN} allocated  {_BEYOND} beyond deserved  {_FREE} left of what the queue may have"
_LESS: Final = "!"
_LESS_IS_KEPT: Final = (
    f"{_LESS} less is kept than spec.guarantee says: an event on the queue says why (kubectl describe queue NAME)"
)
_OUTSIDE: Final = "Without a place in the tree:"
_STOPPED: Final = "Without a place in the tree; their jobs wait:"
_STATES: Final = {"Open": "", "Closing": "yellow", "Closed": "red"}


@dataclass(frozen=True, slots=True)
class _Line:
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
        return held, waiting, kept if self.is_kept else kept + _LESS, *rest


@dataclass(frozen=True, slots=True)
class _Column:
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


def drawing(standings: Sequence[Standing], width: int) -> RenderableType:
    """Headings, the tree, the queues that have no place in it, and what the bars mean, in so many characters."""
    lines = [_lines(standing, _resources(standings)) for standing in standings]
    columns, room = _fitting(_columns(lines), max(len(_title(each)) + _GUIDE * each.depth for each in standings), width)
    titles = [_title(each, room - _GUIDE * each.depth) for each in standings]
    title_width = max(len(title) + _GUIDE * each.depth for title, each in zip(titles, standings, strict=True))
    taken = title_width + sum(len(_GAP) + column.width for column in columns)
    bar = max(_SHORTEST_BAR, min(width - taken - len(_GAP), _LONGEST_BAR))
    at = next(at for at, column in enumerate(columns) if column.heading == "Allocated")
    columns.insert(at, _Column("", tuple(tuple(_bar(line, bar) for line in queue) for queue in lines), is_text=True))
    drawn: list[RenderableType] = [_joined(Text("Queue".ljust(title_width), "dim"), [each.head() for each in columns])]
    branch: list[Tree] = []
    outside = next((standing for standing in standings if standing.problem), None)
    for number, standing in enumerate(standings):
        room = title_width - _GUIDE * standing.depth
        label = _label(
            titles[number], room, [[each.cell(number, line) for each in columns] for line in range(len(lines[number]))]
        )
        if standing.problem:
            label.append(f"\n  {plain(standing.problem)}", "red")
        if standing is outside:
            drawn.append(Text(_STOPPED if standing.stops else _OUTSIDE, "red"))
        if standing.depth == 0:
            branch = [Tree(label, guide_style="dim")]
            drawn.append(branch[0])
        else:
            del branch[standing.depth :]
            branch.append(branch[-1].add(label))
    if any(not line.is_kept for queue in lines for line in queue):
        drawn.append(Text(_LESS_IS_KEPT, "yellow"))
    return Group(*drawn, Text(_LEGEND, "dim"), *_ignored(standings))


def _ignored(standings: Sequence[Standing]) -> Iterator[Text]:
    """What the configuration ignores; a sentence that holds for several queues once, with their names."""
    names: dict[str, list[str]] = {}
    for standing in standings:
        for sentence in standing.report.ignored:
            names.setdefault(sentence, []).append(standing.name)
    for sentence, queues in sorted(names.items(), key=lambda each: each[1]):
        which = "queue" if len(queues) == 1 else "queues"
        yield Text(plain(f"{which} {summarize(queues)}: {sentence}"), "yellow")


def _resources(standings: Sequence[Standing]) -> list[str]:
    """cpu, and what somebody holds, wants or is entitled to; places for pods are no queue's business."""
    found: set[str] = {"cpu"}
    for standing in standings:
        report = standing.report
        for amounts in (report.allocated, report.request, report.deserved, report.guarantee, report.guarantee_not_kept):
            found.update(name for name, units in amounts.items() if units)
    ordered = sorted(found - {"pods"}, key=lambda name: (name not in _FIRST, name))
    return ordered[:_MOST_RESOURCES]


def _lines(standing: Standing, resources: Sequence[str]) -> list[_Line]:
    report = standing.report

    def units(amounts: Amounts, resource: str) -> int:
        return amounts.get(resource, 0)

    return [
        _Line(
            resource=resource,
            weight=report.weight,
            share=report.share,
            held=units(report.allocated, resource),
            pending=units(standing.pending, resource),
            guarantee=units(report.guarantee, resource),
            is_kept=not units(report.guarantee_not_kept, resource),
            deserved=report.deserved.get(resource),
            capability=report.capability.get(resource),
            limit=report.real_capability.get(resource, report.capability.get(resource)),
        )
        for resource in resources
    ]


def _columns(lines: Sequence[Sequence[_Line]]) -> list[_Column]:
    """All but the bars. Weights and guarantees are left out where they say nothing."""
    every = [line for queue in lines for line in queue]
    columns = []
    if any(line.weight != 1 for line in every):
        columns.append(_Column("Weight", tuple(_once(Text(str(queue[0].weight)), queue) for queue in lines)))
    shares = (Text(f"{queue[0].share:.2f}", "yellow" if queue[0].share > 1 else "") for queue in lines)
    columns.append(_Column("Share", tuple(_once(share, queue) for share, queue in zip(shares, lines, strict=True))))
    columns.append(
        _Column("", tuple(tuple(Text(line.resource, "dim") for line in queue) for queue in lines), is_text=True)
    )
    for at, heading in enumerate(("Allocated", "Pending", "Guarantee", "Deserved", "Capability")):
        if heading != "Guarantee" or any(line.guarantee or not line.is_kept for line in every):
            columns.append(_Column(heading, tuple(tuple(_amount(line.texts[at]) for line in queue) for queue in lines)))
    return columns


def _fitting(columns: list[_Column], wanted: int, width: int) -> tuple[list[_Column], int]:
    """The columns that fit next to the names, and the width of the names, `wanted` if possible."""
    left = width - len(_GAP) - _SHORTEST_BAR
    for heading in _SPARE:
        if left - sum(len(_GAP) + column.width for column in columns) >= min(wanted, _ROOM_FOR_NAMES):
            break
        columns = [column for column in columns if column.heading != heading]
    return columns, min(wanted, max(left - sum(len(_GAP) + column.width for column in columns), _ROOM_FOR_NAMES))


def _once(text: Text, lines: Sequence[_Line]) -> tuple[Text, ...]:
    """In the first line of a queue only."""
    return (text, *(Text() for _ in lines[1:]))


def _amount(text: str) -> Text:
    return Text(text, "yellow" if text.endswith(_LESS) else "dim" if text in ("0", "-") else "")


def _bar(line: _Line, width: int) -> Text:
    """How much of what the queue may have it holds, and how much of that is beyond what it deserves."""
    scale = max(line.limit or 0, line.held, line.deserved or 0)
    if not line.held or not scale:
        return Text(_FREE * width, "dim")
    filled = max(round(width * line.held / scale), 1)
    within = filled
    if line.deserved is not None and line.held > line.deserved:
        within = min(filled - 1, round(width * line.deserved / scale))
    is_over = line.limit is not None and line.held > line.limit
    bar = Text(_WITHIN * within, "red" if is_over else "green")
    bar.append(_BEYOND * (filled - within), "red" if is_over else "yellow")
    return bar.append(_FREE * (width - filled), "dim")


def _title(standing: Standing, room: int = sys.maxsize) -> Text:
    """Name and state. What is too long is cut in the middle: names of one house begin alike."""
    state = "" if standing.report.state == "Open" else f" {plain(standing.report.state)}"
    name, most = plain(standing.name), max(room - len(state), _SHORTEST_NAME)
    if len(name) > most:
        name = f"{name[: most // 2]}…{name[len(name) - (most - most // 2 - 1) :]}"
    return Text(name, "bold red" if standing.problem else "bold").append(state, _STATES.get(state.strip(), "red"))


def _label(title: Text, room: int, lines: Sequence[Sequence[Text]]) -> Text:
    """The queue's name in front of its first line, and as much space in front of the others."""
    label = Text(no_wrap=True, overflow="ellipsis")
    for number, cells in enumerate(lines):
        front = title.copy() if number == 0 else Text()
        front.pad_right(room - len(front))
        label.append(Text("\n" if number else "").append(_joined(front, cells)))
    return label


def _joined(first: Text, cells: Sequence[Text]) -> Text:
    row = Text(no_wrap=True, overflow="ellipsis").append(first)
    for cell in cells:
        row.append(_GAP).append(cell)
    return row
