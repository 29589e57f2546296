"""A pod that is leaving counts for the ceilings of its queue until it is gone. Its place can be promised, not taken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.book_keeping import Step, do_and_undo, steps
from tests.support.queues.queue_trees import HIERARCHICAL, next_queue, opened, queue, room
from tests.support.sessions import Objects, Opened, PluginChoice, gang, node, open_session, pod
from volcano_py.framework.votes import Room
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.proportion import Proportion
from volcano_py.state.status import ALLOCATED_STATUSES, ON_NODE_STATUSES, TaskStatus

OWNERS: list[PluginChoice] = [Capacity, HIERARCHICAL, Proportion]
CEILINGS = {"left": 5, "right": 6, "above": 8}
JOBS = {"a": "left", "b": "left", "c": "right"}


def at_once(session: Opened, name: str) -> Room:
    """How many more pods like this one may be bound at once."""
    task = session.task(name)
    return session.ssn.ask.bindable(task.job.queue, task.task_class)


def cluster(owner: PluginChoice, *objects: Objects) -> Opened:
    """Queues `left` and `right`, in a tree below `above`, on two large nodes."""
    queues = [
        queue("root"),
        queue("above", capability=CEILINGS["above"]),
        *(queue(name, "above", capability=CEILINGS[name], deserved=4) for name in ("left", "right")),
    ]
    return open_session(node("n1", cpu="64"), node("n2", cpu="64"), queues, *objects, tiers=[[owner]])


def job(name: str, queue: str, *, pods: int, running: int, leaving: int = 0) -> list[Any]:
    """A job of pods of 1 cpu each, next to which some are leaving."""
    members = gang(name, pods=pods, min_member=1, queue=queue, cpu="1", running_on=["n1"] * running)
    gone = [pod(f"{name}-leaves-{index}", group=name, cpu="1", on="n1", deleting=True) for index in range(leaving)]
    return [*members, *gone]


@pytest.mark.parametrize("owner", OWNERS)
def test_the_place_of_a_leaving_pod_can_be_promised_but_not_taken(owner: PluginChoice) -> None:
    session = cluster(owner, job("a", "left", pods=9, running=2, leaving=3))
    assert room(session, "a-2").count == 3
    found = at_once(session, "a-2")
    assert found.count == 0
    assert found.refusal is not None
    assert found.refusal.message.startswith(
        "queue left: 5 cpu allocated (3 cpu by terminating pods) + 1 asked > 5 capability;"
    )


def test_leaving_pods_count_for_the_ceilings_above_as_well() -> None:
    session = cluster(
        HIERARCHICAL,
        job("a", "left", pods=3, running=0, leaving=4),
        job("c", "right", pods=9, running=3),
    )
    assert room(session, "c-3").count == 3, "right may have 6"
    assert at_once(session, "c-3").count == 1, "above may have 8"


@pytest.mark.parametrize("owner", OWNERS)
def test_a_queue_gains_no_turn_by_deleting_pods(owner: PluginChoice) -> None:
    """The 4 of left leave, however long that takes, while right holds 2."""
    session = cluster(
        owner,
        job("a", "left", pods=2, running=0, leaving=4),
        job("c", "right", pods=4, running=2),
    )
    assert next_queue(session, "left", "right") == "right"


def test_what_is_guaranteed_is_kept_once_when_its_pods_are_leaving() -> None:
    session = opened(
        queue("a", capability=8),
        queue("kept", "a", guarantee=4),
        queue("other", "a"),
        job("k", "kept", pods=1, running=0, leaving=4),
        job("o", "other", pods=9, running=0),
    )
    assert room(session, "o-0").count == 4
    assert at_once(session, "o-0").count == 4, "not 0: the pods that leave hold what is guaranteed"


@pytest.mark.parametrize("owner", OWNERS)
def test_a_job_is_admitted_when_the_leaving_pods_are_gone(owner: PluginChoice) -> None:
    session = cluster(
        owner,
        job("a", "left", pods=1, running=0, leaving=3),
        gang("next", pods=3, queue="left", cpu="1", min_resources={"cpu": "3"}, group_phase="Pending"),
        gang("small", pods=2, queue="left", cpu="1", min_resources={"cpu": "2"}, group_phase="Pending"),
    )
    assert session.ssn.ask.job_enqueueable(session.job("next")).refusal is not None
    assert session.ssn.ask.job_enqueueable(session.job("small")).refusal is None


def _expected(session: Opened, owner: PluginChoice, queue: str) -> tuple[int, int]:
    """How many more pods of 1 cpu the queue may be promised, and may have at once, counted one by one."""
    ledger = session.ssn.ledger
    later = dict.fromkeys(CEILINGS, 0)
    now = dict.fromkeys(CEILINGS, 0)
    for name, of in JOBS.items():
        for status in ledger.tasks.status[session.ssn.tasks_of(session.job(name))].tolist():
            for each in (of, "above"):
                later[each] += bool(ALLOCATED_STATUSES[status]) or status == TaskStatus.PIPELINED
                now[each] += bool(ON_NODE_STATUSES[status])
    chain = (queue, "above") if owner is HIERARCHICAL else (queue,)
    rooms = [max(0, min(CEILINGS[each] - held[each] for each in chain)) for held in (later, now)]
    return rooms[0], min(rooms)


@given(st.sampled_from([Capacity, HIERARCHICAL]), steps(JOBS, most=20))
def test_rooms_follow_the_tasks_through_a_cycle(owner: PluginChoice, steps: list[Step]) -> None:
    session = cluster(owner, *(job(name, of, pods=5, running=2) for name, of in JOBS.items()))

    def rooms(session: Opened) -> dict[str, tuple[int, int]]:
        return {
            of: (room(session, f"{name}-0").count, at_once(session, f"{name}-0").count) for name, of in JOBS.items()
        }

    for _ in do_and_undo(session, steps, rooms):
        assert rooms(session) == {of: _expected(session, owner, of) for of in ("left", "right")}


@pytest.mark.parametrize(("owner", "is_leaving"), [(Capacity, False), (HIERARCHICAL, True), (Proportion, False)])
def test_what_pods_hold_together_does_not_wrap_around(owner: PluginChoice, is_leaving: bool) -> None:
    """Anyone may create pods of a pebibyte that name their node themselves; so many exceed 64 bits together."""
    huge = [pod(f"huge-{index}", group="a", memory="1Pi", on="n1", deleting=is_leaving) for index in range(2**13 + 1)]
    waiting = gang("a", pods=1, queue="left", memory="1Gi", running_on=[])
    session = open_session(
        node("n1", memory="2Ti"), queue("left", capability={"memory": "1Ti"}), waiting, huge, tiers=[[owner]]
    )
    assert at_once(session, "a-0").count == 0
