"""Queues as a tree with a line for each resource, in columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from volcano_py.cli.printing.ignored_fields import ignored_lines
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.queues.columns import BEYOND, FREE, GAP, LESS, WITHIN, columns_of, fitting, lines_of, with_bars
from volcano_py.standing import Standing

_SHORTEST_NAME: Final = 8
_GUIDE: Final = 4  # characters that a level is indented by
_LEGEND: Final = f"{WITHIN} allocated  {BEYOND} beyond deserved  {FREE} left of what the queue may have"
_LESS_IS_KEPT: Final = (
    f"{LESS} less is kept than spec.guarantee says: an event on the queue says why (kubectl describe queue NAME)"
)
_OUTSIDE: Final = "Without a place in the tree:"
_STOPPED: Final = "Without a place in the tree; their jobs wait:"
_MISSING: Final = "Queues that do not exist:"
_STATES: Final = {"Open": "", "Closing": "yellow", "Closed": "red"}


def drawing(standings: Sequence[Standing], width: int) -> RenderableType:
    """Headings, the tree, the queues that have no place in it, and what the bars mean, in so many characters."""
    lines = lines_of(standings)
    columns, room = fitting(
        columns_of(lines), max(len(_title(each)) + _GUIDE * each.depth for each in standings), width
    )
    titles = [_title(each, room - _GUIDE * each.depth) for each in standings]
    title_width = max(len(title) + _GUIDE * each.depth for title, each in zip(titles, standings, strict=True))
    columns = with_bars(columns, lines, width - title_width)
    heading = _joined(Text("Queue".ljust(title_width), "dim"), [each.head() for each in columns])
    labels = []
    for number, (title, standing) in enumerate(zip(titles, standings, strict=True)):
        cells = [[each.cell(number, line) for each in columns] for line in range(len(lines[number]))]
        labels.append(_label(title, title_width - _GUIDE * standing.depth, cells, standing.problem))
    is_less_kept = any(not line.is_kept for queue in lines for line in queue)
    notes = [Text(_LESS_IS_KEPT, "yellow")] if is_less_kept else []
    return Group(
        heading,
        *_trees(standings, labels),
        *notes,
        Text(_LEGEND, "dim"),
        *ignored_lines(each.report for each in standings),
    )


def _trees(standings: Sequence[Standing], labels: Sequence[Text]) -> Iterator[RenderableType]:
    """A tree for each top queue; before queues without a place in the tree, and before those that do not exist, a
    heading."""
    branch: list[Tree] = []
    heading = ""
    for standing, label in zip(standings, labels, strict=True):
        if heading != (heading := _heading(standing)):
            yield Text(heading, "red")
        if standing.depth == 0:
            branch = [Tree(label, guide_style="dim")]
            yield branch[0]
        else:
            del branch[standing.depth :]
            branch.append(branch[-1].add(label))


def _heading(standing: Standing) -> str:
    """Of the queues without a place in the tree."""
    if not standing.problem:
        return ""
    if standing.is_missing:
        return _MISSING
    return _STOPPED if standing.stops else _OUTSIDE


def _title(standing: Standing, room: int = sys.maxsize) -> Text:
    """Name and state. What is too long is cut in the middle: names of one house begin alike."""
    state = "" if standing.report.state in ("", "Open") else f" {plain(standing.report.state)}"
    name, most = plain(standing.name), max(room - len(state), _SHORTEST_NAME)
    if len(name) > most:
        name = f"{name[: most // 2]}…{name[len(name) - (most - most // 2 - 1) :]}"
    return Text(name, "bold red" if standing.problem else "bold").append(state, _STATES.get(state.strip(), "red"))


def _label(title: Text, room: int, lines: Sequence[Sequence[Text]], problem: str) -> Text:
    """The queue's name in front of its first line, as much space in front of the others, and what is wrong with it."""
    label = Text(no_wrap=True, overflow="ellipsis")
    for number, cells in enumerate(lines):
        front = title.copy() if number == 0 else Text()
        front.pad_right(room - len(front))
        label.append(Text("\n" if number else "").append(_joined(front, cells)))
    if problem:
        label.append(f"\n  {plain(problem)}", "red")
    return label


def _joined(first: Text, cells: Sequence[Text]) -> Text:
    row = Text(no_wrap=True, overflow="ellipsis").append(first)
    for cell in cells:
        row.append(GAP).append(cell)
    return row
