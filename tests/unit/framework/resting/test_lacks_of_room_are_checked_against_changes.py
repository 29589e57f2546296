"""Whether a change of nodes concerns classes that have no room: in arrays, as by looking at all nodes again."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.sessions import gang, node, open_session
from volcano_py.framework.resting import lack_of_room as module
from volcano_py.framework.resting.lack_of_room import LackOfRoom, LacksOfRoom, RoomChange, lack_of_room
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS
from volcano_py.state.task_class import TaskClass

NODES: Final = 11
CLASSES: Final = ((1, 0), (2, 1), (0, 2), (3, 3))
"""CPUs and GiB of memory."""

amounts = st.integers(0, 4)
frees = st.lists(st.tuples(amounts, amounts), min_size=NODES, max_size=NODES)
refusals = st.lists(st.booleans(), min_size=NODES, max_size=NODES)


def cluster() -> tuple[Session, list[TaskClass]]:
    names = [f"n{(number * 7) % NODES:02}" for number in range(NODES)]  # not in the order of their rows
    nodes = [node(name, cpu="4", memory="4Gi") for name in names]
    jobs = [gang(f"j{cpu}{memory}", cpu=str(cpu), memory=f"{memory}Gi") for cpu, memory in CLASSES]
    ssn = open_session(*nodes, *jobs).ssn
    waiting = (ssn.task_class(row) for job in ssn.all_jobs() for row in ssn.tasks_of(job).tolist())
    return ssn, list(waiting)


def with_free(ssn: Session, free: list[tuple[int, int]]) -> NDArray[np.int64]:
    """[N, R] what is free then."""
    nodes, names = ssn.ledger.nodes, ssn.axis.names
    for row, (cpu, memory) in enumerate(free):
        left = nodes.allocatable[row].copy()
        left[names.index("cpu")], left[names.index("memory")] = cpu * 1000, memory * 1024**3
        nodes.change(row).used[row] = nodes.allocatable[row] - np.minimum(left, nodes.allocatable[row])
    return nodes.future_idle()


def said(ssn: Session, task_class: TaskClass, codes: NDArray[np.int32]) -> Any:
    """All that a message says about room once as many pods as possible are placed: how many each willing node takes, of
    what it has too little then, and where the most of that is."""
    lack = lack_of_room(ssn, task_class, codes)
    if lack is None:
        return None
    request, taken, first = task_class.request, list[int](), list[int]()
    for free in ssn.ledger.nodes.future_idle()[codes == FITS]:
        taken.append(next(count for count in range(100) if (free - count * request < request).any()))
        first.append(int(((request > 0) & (free - taken[-1] * request < request)).argmax()))
    assert lack.places == sum(taken)
    return taken, first, lack.most[lack.short].tolist(), lack.most_on[lack.short].tolist()


@pytest.mark.parametrize("most_compared", [1, 1_000_000])
@given(before=frees, after=frees, is_refused=refusals, moved=st.sets(st.integers(0, NODES - 1)))
def test_it_holds_while_all_that_is_said_about_it_is_the_same(
    most_compared: int,
    before: list[tuple[int, int]],
    after: list[tuple[int, int]],
    is_refused: list[bool],
    moved: set[int],
) -> None:
    after = [new if row in moved else old for row, (old, new) in enumerate(zip(before, after, strict=True))]
    ssn, classes = cluster()
    codes = np.where(is_refused, ssn.absent_node, FITS).astype(np.int32)
    was = with_free(ssn, before)
    known = {each.row: lack_of_room(ssn, each, codes) for each in classes}
    lacking = [each for each in classes if known[each.row] is not None]
    if not lacking:
        return
    was_said = [said(ssn, each, codes) for each in lacking]
    now = with_free(ssn, after)
    lacks = LacksOfRoom([lack for lack in known.values() if lack is not None])
    change = RoomChange.between(was, now, ssn.nodes.name_rank)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_COMPARED", most_compared)
        holds, room = lacks.hold(change).tolist(), lacks.room(change).tolist()
    assert holds == [said(ssn, each, codes) == old for each, old in zip(lacking, was_said, strict=True)]
    assert room == [int(places(now, each, codes)[change.rows].sum()) for each in lacking]


def places(free: NDArray[np.int64], task_class: TaskClass, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """[N] how many pods of the class find room."""
    asked = task_class.requested
    room: NDArray[np.int64] = np.maximum(free[:, asked] // task_class.request[asked], 0).min(axis=1)
    return np.where(codes == FITS, room, 0)


def test_where_no_node_is_willing_it_is_not_room_that_is_lacking() -> None:
    ssn, classes = cluster()
    with_free(ssn, [(0, 0)] * NODES)
    assert isinstance(lack_of_room(ssn, classes[0], np.zeros(NODES, dtype=np.int32)), LackOfRoom)
    assert lack_of_room(ssn, classes[0], np.full(NODES, ssn.absent_node, dtype=np.int32)) is None


def test_what_some_nodes_have_room_for_is_counted() -> None:
    ssn, classes = cluster()
    with_free(ssn, [(4, 4), (2, 0)] + [(0, 0)] * (NODES - 2))
    lack = lack_of_room(ssn, classes[0], np.zeros(NODES, dtype=np.int32))
    assert isinstance(lack, LackOfRoom)
    assert lack.places == 6
