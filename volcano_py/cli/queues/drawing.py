"""Queues as a tree with a line for each resource, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from volcano_py.api.explain import numbers
from volcano_py.cli.live.tables import plain
from volcano_py.cli.queues.standing import Standing

_BAR: Final = 16  # characters
_GUIDE: Final = 4  # characters that a level is indented by
_FIRST: Final = ("cpu", "memory")
_MOST_RESOURCES: Final = 6
_GAP: Final = "  "
_WITHIN, _BEYOND, _FREE = "█", "▓", "░"
_LEGEND: Final = f"{_WITHIN} allocated  {_BEYOND} beyond deserved  {_FREE} left of what the queue may have"
_HEADINGS: Final = ("Weight", "Share", "Resource", "", "Allocated", "Pending", "Guarantee", "Deserved", "Capability")
_LEFT: Final = frozenset({"Resource", ""})
_STATES: Final = {"Open": "", "Closing": "yellow", "Closed": "red"}

Cell = tuple[str, str]
"""Text and style."""


def drawing(standings: Sequence[Standing]) -> RenderableType:
    """Headings, the tree, the queues that have no place in it, and what the bars mean."""
    resources = _resources(standings)
    lines = [_lines(standing, resources) for standing in standings]
    widths = [max(len(cell[0]) for column in lines for cell in _column(column, at)) for at in range(len(_HEADINGS))]
    widths = [max(width, len(heading)) for width, heading in zip(widths, _HEADINGS, strict=True)]
    name_width = max(len(_title(standing).plain) + _GUIDE * standing.depth for standing in standings)
    head = Text("Queue".ljust(name_width), "dim")
    head.append(_row([(heading, "dim") for heading in _HEADINGS], widths))
    drawn: list[RenderableType] = [head]
    open_nodes: list[Tree] = []
    outside = next((standing for standing in standings if standing.problem), None)
    for standing, rows in zip(standings, lines, strict=True):
        label = _label(standing, rows, widths, name_width - _GUIDE * standing.depth)
        if standing is outside:
            drawn.append(Text("Without a place in the tree, so that their jobs wait:", "red"))
        if standing.depth == 0:
            open_nodes = [Tree(label, guide_style="dim")]
            drawn.append(open_nodes[0])
        else:
            del open_nodes[standing.depth :]
            open_nodes.append(open_nodes[-1].add(label))
    return Group(*drawn, Text(_LEGEND, "dim"))


def _resources(standings: Sequence[Standing]) -> list[str]:
    """cpu, memory and devices that somebody holds, wants or is entitled to; places for pods are no queue's business."""
    found: set[str] = set(_FIRST)
    for standing in standings:
        report = standing.report
        for amounts in (report.allocated, report.request, report.deserved, report.guarantee):
            found.update(name for name, units in amounts.items() if units)
    ordered = sorted(found - {"pods"}, key=lambda name: (name not in _FIRST, name))
    return ordered[:_MOST_RESOURCES]


def _label(standing: Standing, rows: list[list[Cell]], widths: list[int], width: int) -> Text:
    """The queue's name beside its first line, room beside the others, and its problem below."""
    label = Text(no_wrap=True, overflow="ignore")
    for number, row in enumerate(rows):
        title = _title(standing) if number == 0 else Text()
        title.pad_right(width - len(title.plain))
        label.append(title if number == 0 else Text("\n").append(title))
        label.append(_row(row, widths))
    if standing.problem:
        label.append(f"\n  {plain(standing.problem)}", "red")
    return label


def _title(standing: Standing) -> Text:
    title = Text(plain(standing.name), "bold red" if standing.problem else "bold")
    state = standing.report.state
    return title if state == "Open" else title.append(f" {plain(state)}", _STATES.get(state, "red"))


def _lines(standing: Standing, resources: Sequence[str]) -> list[list[Cell]]:
    """The cells of each resource's line; weight and share are in the first."""
    report = standing.report
    lines = []
    for number, resource in enumerate(resources):
        held, pending, guarantee, deserved, capability = (
            amounts.get(resource)
            for amounts in (
                report.allocated, standing.pending, report.guarantee, report.deserved, report.capability,
            )
        )  # fmt: skip
        limit = report.real_capability.get(resource, capability)
        texts = numbers(resource, *(units or 0 for units in (held, pending, guarantee, deserved, capability)))
        shown = [
            text if units or number == 0 else "-"
            for number, (text, units) in enumerate(
                zip(texts, (held, pending, guarantee, deserved, capability), strict=True)
            )
        ]
        lines.append(
            [
                (str(report.weight) if number == 0 else "", ""),
                (f"{report.share:.2f}" if number == 0 else "", "yellow" if report.share > 1 else ""),
                (resource, "dim"),
                _bar(held or 0, deserved, limit),
                *((text, "dim" if text in ("0", "-") else "") for text in shown),
            ]
        )
    return lines


def _bar(held: int, deserved: int | None, limit: int | None) -> Cell:
    """How much of what the queue may have it holds, and how much of that is beyond what it deserves."""
    scale = max(limit or 0, held, deserved or 0)
    if not scale:
        return _FREE * _BAR, "dim"
    filled = max(round(_BAR * held / scale), 1 if held else 0)
    within = filled if deserved is None else min(filled, round(_BAR * deserved / scale))
    if deserved is not None and held <= deserved:
        within = filled
    style = "red" if limit is not None and held > limit else "yellow" if within < filled else "green"
    return _WITHIN * within + _BEYOND * (filled - within) + _FREE * (_BAR - filled), style


def _row(cells: Sequence[Cell], widths: Sequence[int]) -> Text:
    row = Text()
    for (text, style), width, heading in zip(cells, widths, _HEADINGS, strict=True):
        row.append(_GAP)
        row.append(text.ljust(width) if heading in _LEFT else text.rjust(width), style)
    return row


def _column(lines: list[list[Cell]], at: int) -> list[Cell]:
    return [line[at] for line in lines]
