"""What plugins see of a node: in use, free, promised; now, after a task more, and once pods that leave are gone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.placement.node_answers import class_of, node_rows
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.framework.views import NodeView
from volcano_py.state.table.axis import CPU


@pytest.fixture
def opened() -> Opened:
    """A node of 16 CPUs: 4 in use, 4 more by a pod that terminates."""
    return open_session(
        node("n1", cpu="16"),
        pod("old", on="n1", cpu="4"),
        pod("leaving", on="n1", cpu="4", deleting=True),
        pod_group("g"),
        [pod(name, group="g", cpu="3") for name in ("a", "b", "c")],
    )


def seen(opened: Opened, *, placed: int = 0, released: bool = False) -> tuple[int, int, int]:
    """Used, idle and free CPUs."""
    more = np.array([placed]) if placed else None
    table, rows = opened.ssn.ledger.nodes, node_rows(opened, ["n1"])
    view = NodeView(table, rows, class_of(opened, "a"), more, released=released)
    used, idle, free = (amounts[0, CPU] // 1000 for amounts in (view.used, view.idle, view.free))
    return int(used), int(idle), int(free)


def test_a_pod_that_terminates_is_in_use_until_it_is_gone(opened: Opened) -> None:
    assert seen(opened) == (8, 8, 8)
    assert seen(opened, released=True) == (4, 12, 12)


def test_tasks_may_be_supposed(opened: Opened) -> None:
    assert seen(opened, placed=2) == (14, 2, 2)
    assert seen(opened, placed=2, released=True) == (10, 6, 6)


def test_what_is_promised_is_first_taken_from_what_is_being_released(opened: Opened) -> None:
    statement = opened.pipeline("g", {"a": "n1"})
    assert seen(opened) == (8, 8, 8), "3 promised, 4 being released"
    opened.pipeline("g", {"b": "n1"}, statement)
    assert seen(opened) == (8, 8, 6), "6 promised, 4 being released"
    assert seen(opened, released=True) == (10, 6, 6)
    statement.discard()
    assert seen(opened) == (8, 8, 8)
