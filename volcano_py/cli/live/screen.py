"""Tables that fit a screen: each gets the room it needs, or its share of the available room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from volcano_py.cli.live.overview import Overview
from volcano_py.cli.live.tables import Section, sections

_TALL: Final = 30  # lines; a head takes nine
_FRAME: Final = 4  # lines of a table that are not rows: title, headings, rule, and a blank line after it
_REST: Final = 1  # line that says how many rows are not shown
_LEAST: Final = _FRAME + _REST + 2


@dataclass(frozen=True, slots=True)
class Head:
    """Lines that stay in sight; on a small screen only the `most_needed`."""

    lines: tuple[str, ...] = ()
    most_needed: tuple[str, ...] = ()


def screen(head: Head, seen: Overview, foot: Sequence[str], console: Console) -> RenderableType:
    """Head, tables and foot for the whole of the console."""
    top = [_line(line) for line in ((*head.lines, "") if console.height >= _TALL else head.most_needed)]
    bottom = [_line(line) for line in foot]
    room = console.height - len(top) - len(bottom)
    tables = _fitting(sections(seen, console.width), room, console)
    return Group(*top, *tables, *bottom)


def _fitting(wanted: list[Section], room: int, console: Console) -> list[RenderableType]:
    """The tables that fit into this many lines, each followed by a blank line."""
    needs = {id(section): _lines(section, min(section.rows, room), console) for section in wanted}
    while sum(min(needs[id(section)], _LEAST) for section in wanted) > room and len(wanted) > 1:
        wanted.remove(min(wanted, key=lambda section: section.worth))
    shares = _shares([needs[id(section)] for section in wanted], room)
    tables: list[RenderableType] = []
    for section, share in zip(wanted, shares, strict=True):
        rows = section.rows
        if share < needs[id(section)]:
            rows = max(1, share - _FRAME - _REST)
            # Rows of several lines: measured, because a table does not say how high it is.
            while rows > 1 and _lines(section, rows, console) > share:
                rows -= 1
        tables += [section.make(rows), Text()]
    return tables


def _lines(section: Section, rows: int, console: Console) -> int:
    return len(console.render_lines(section.make(rows), pad=False)) + 1


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """Lines for each: at first the least that makes sense, then line by line in turn, never more than it needs."""
    shares = [min(need, _LEAST) for need in needs]
    left = room - sum(shares)
    while left > 0 and shares != list(needs):
        for index, need in enumerate(needs):
            if shares[index] < need and left > 0:
                shares[index] += 1
                left -= 1
    return shares


def _line(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")
