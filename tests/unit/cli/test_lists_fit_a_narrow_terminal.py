"""Rows on a terminal that is too narrow for all columns; what is piped has every one of them."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from volcano_py.cli.flows.rows import FLOW_HEADER
from volcano_py.cli.jobs.rows import HEADER, SPARE
from volcano_py.cli.listing import Listing

ROW = ("default", "train", Text("Completed", "dim"), "research", *"123456789"[: len(HEADER) - 5], "12m")


def printed(width: int, *rows: tuple[str | Text, ...], terminal: bool = True) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    listing = Listing(console, HEADER, HEADER[4:12], spare=SPARE)
    for row in rows:
        listing.print([row])
    return out.getvalue().splitlines()


def test_columns_are_left_out_until_a_row_is_a_line() -> None:
    wide, narrow = printed(160, ROW), printed(80, ROW)
    assert wide[0].split() == list(HEADER)
    assert [len(line) <= 80 for line in narrow] == [True, True]
    left_out = [name for name in HEADER if name not in narrow[0].split()]
    assert left_out == [name for name in HEADER if name in SPARE[: len(left_out)]], "the least important ones"
    assert {"NAME", "PHASE", "RUNNING", "FAILED"} <= set(narrow[0].split())


def test_rows_have_the_columns_of_the_header_above_them() -> None:
    """The first rows decide: columns that came and went could not be read."""
    longer = ("default", "a-name-that-is-much-longer-than-the-first", *ROW[2:])
    header, first, second = printed(80, ROW, longer)
    assert len(header.split()) == len(first.split()) == len(second.split())


def test_a_pipe_has_all_of_them() -> None:
    assert printed(80, ROW, terminal=False)[0].split() == list(HEADER)


def test_flows_need_no_more_than_80_columns() -> None:
    assert len("  ".join(FLOW_HEADER)) <= 70, "names are longer than their headings"
