"""Rows on a terminal that is too narrow for all columns; what is piped has every one of them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from volcano_py.cli import pod_groups
from volcano_py.cli.flows.rows import FLOW_HEADER
from volcano_py.cli.jobs.rows import HEADER, NUMBERS, SPARE
from volcano_py.cli.pods import commands as pods
from volcano_py.cli.pods import evictions
from volcano_py.cli.printing.listing import Listing
from volcano_py.cli.queues import rows as queues

ROW = ("default", "train", Text("Completed", "dim"), "research", *"12345678", "12m", "-")

COLUMNS = " ".join(HEADER).split()


def printed(width: int, *rows: tuple[str | Text, ...], terminal: bool = True) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    listing = Listing(console, HEADER, NUMBERS, spare=SPARE, flows=True)
    for row in rows:
        listing.print([row])
    return out.getvalue().splitlines()


def test_columns_are_left_out_until_a_row_is_a_line() -> None:
    wide, narrow = printed(160, ROW), printed(80, ROW)
    assert wide[0].split() == COLUMNS
    assert [len(line) <= 80 for line in narrow] == [True, True]
    left_out = [name for name in HEADER if not set(name.split()) <= set(narrow[0].split())]
    assert left_out == [name for name in HEADER if name in SPARE[: len(left_out)]], "the least important ones"
    assert {"NAME", "PHASE", "RUNNING", "FAILED"} <= set(narrow[0].split())


def test_rows_have_the_columns_of_the_header_above_them() -> None:
    """The first rows decide: columns that came and went could not be read."""
    longer = ("default", "a-name-that-is-much-longer-than-the-first", *ROW[2:])
    header, first, second = printed(80, ROW, longer)
    columns = header.removesuffix(HEADER[-1]).split()
    assert len(columns) == len(first.split()) - 1 == len(second.split()), "there is no room for its -"


def test_a_pipe_has_all_of_them() -> None:
    assert printed(80, ROW, terminal=False)[0].split() == COLUMNS


WAITS = ("NAME", "STATUS", "WHY IT WAITS")
WHY = "NeverFits: the pod asks 16 cpu; the largest node, n1, has 8 cpu even when empty: ask for less"


def waiting(width: int, *rows: tuple[str, str, str], terminal: bool = True) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    Listing(console, WAITS, flows=True).print(rows)
    return out.getvalue().splitlines()


def test_a_sentence_goes_on_below_itself() -> None:
    assert waiting(80, ("train-0", "Pending", WHY), ("train-1", "Running", "-")) == [
        "NAME     STATUS   WHY IT WAITS",
        "train-0  Pending  NeverFits: the pod asks 16 cpu; the largest node, n1, has 8",
        "                  cpu even when empty: ask for less",
        "train-1  Running  -",
    ]


def test_a_sentence_without_room_next_to_its_row_is_below_it() -> None:
    name = "the-name-of-this-pod-is-long"
    assert waiting(60, (name, "Pending", WHY), (name, "Pending", "Unsupported: no")) == [
        "NAME                          STATUS   WHY IT WAITS",
        f"{name}  Pending",
        "    NeverFits: the pod asks 16 cpu; the largest node, n1,",
        "    has 8 cpu even when empty: ask for less",
        f"{name}  Pending  Unsupported: no",
    ]


def test_in_a_pipe_a_row_is_a_line() -> None:
    assert waiting(60, ("train-0", "Pending", WHY), terminal=False)[1] == f"train-0  Pending  {WHY}"


@pytest.mark.parametrize(
    ("header", "spare"),
    [
        (queues.HEADER, queues.SPARE),
        (pods.HEADER, pods.SPARE),
        (evictions.HEADER, evictions.SPARE),
        (pod_groups.HEADER, pod_groups.SPARE),
    ],
)
def test_what_can_be_left_out_is_there(header: tuple[str, ...], spare: tuple[str, ...]) -> None:
    assert set(spare) < set(header)
    assert "NAME" not in spare


def test_flows_need_no_more_than_80_columns() -> None:
    assert len("  ".join(FLOW_HEADER)) <= 70, "names are longer than their headings"
