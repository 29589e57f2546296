"""What a job that waits for admission could have others evicted for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.queues.hierarchy import placed_queue
from tests.support.sessions import Opened, gang, node, open_session, pod_group, priority_class, queue
from tests.unit.actions.acting import act, phase
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.enqueue import Enqueue
from volcano_py.actions.preempt import Preempt
from volcano_py.actions.reclaim import Reclaim
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.overcommit import Overcommit
from volcano_py.plugins.proportion import Proportion
from volcano_py.plugins.queues.takings import Takings
from volcano_py.state.snapshot import Phase

CPU = 0
TREE = (Capacity, {"enableHierarchy": True})
EVICTING = (Enqueue, Allocate, Preempt, Reclaim)


def running(name: str, count: int, queue: str = "default", **fields: Any) -> Any:
    return gang(name, pods=count, min_member=1, queue=queue, cpu="1", running_on=["n1"] * count, **fields)


def waiting(name: str, cpu: int, queue: str = "default", **fields: Any) -> Any:
    """A PodGroup whose pods do not exist."""
    return pod_group(name, queue=queue, min_resources={"cpu": str(cpu)}, phase="Pending", **fields)


def opened(*objects: Any, owner: Any, actions: Any = EVICTING) -> Opened:
    return open_session(node("n1", cpu="16"), *objects, tiers=[[Overcommit, owner]], actions=actions)


def could_free(session: Opened, name: str) -> int:
    """Millicores for the job."""
    job = session.job(name)
    assert job.min_resources is not None
    return session.ssn.shared(Takings).of(job, job.min_resources.tolist())[CPU]


def test_by_weight_it_is_what_others_hold_beyond_what_they_would_deserve() -> None:
    """Were the pods of `late` there, each queue would deserve 8."""
    session = opened(queue("q0"), queue("q1"), running("early", 16, "q0"), waiting("late", 8, "q1"), owner=Proportion)
    assert could_free(session, "late") == 8000


def test_by_the_spec_it_is_what_others_hold_beyond_what_they_deserve() -> None:
    queues = queue("q0", deserved={"cpu": "10"}), queue("q1", deserved={"cpu": "6"})
    session = opened(*queues, running("early", 16, "q0"), waiting("late", 6, "q1"), owner=Capacity)
    assert could_free(session, "late") == 6000


def test_in_a_tree_of_shares_it_is_what_others_hold_down_to_the_tie() -> None:
    queues = placed_queue("q0", "root/q0", "1/1"), placed_queue("q1", "root/q1", "1/3")
    session = opened(
        *queues, running("early", 16, "q0"), waiting("late", 12, "q1"), owner=(Drf, {"enableHierarchy": True})
    )
    assert could_free(session, "late") == 12000


@pytest.mark.parametrize("owner", [Proportion, Capacity, TREE], ids=["proportion", "capacity", "in a tree"])
def test_a_job_beyond_what_its_queue_deserves_could_reclaim_nothing(owner: Any) -> None:
    queues = queue("q0", deserved={"cpu": "8"}), queue("q1", deserved={"cpu": "8"})
    session = opened(*queues, running("early", 16, "q0"), waiting("late", 9, "q1"), owner=owner)
    assert could_free(session, "late") == 0


@pytest.mark.parametrize("owner", [Proportion, Capacity, TREE], ids=["proportion", "capacity", "in a tree"])
def test_a_queue_that_is_not_reclaimable_gives_nothing(owner: Any) -> None:
    queues = queue("q0", deserved={"cpu": "8"}, reclaimable=False), queue("q1", deserved={"cpu": "8"})
    session = opened(*queues, running("early", 16, "q0"), waiting("late", 8, "q1"), owner=owner)
    assert could_free(session, "late") == 0


def test_a_queue_takes_by_the_right_of_one_above_it() -> None:
    """`a1` deserves nothing itself; `a` above it deserves 8."""
    owner = (Capacity, {"enableHierarchy": True, "arguments": {"ancestorReclaimLevel": 1}})
    queues = queue("a", deserved={"cpu": "8"}), queue("a1", parent="a"), queue("b", deserved={"cpu": "8"})
    session = opened(*queues, running("early", 16, "b"), waiting("late", 8, "a1"), owner=owner)
    assert could_free(session, "late") == 8000


def test_inside_a_queue_it_is_what_jobs_of_lower_priority_hold_of_pods_that_may_go() -> None:
    session = opened(
        priority_class("low", 1),
        priority_class("high", 100),
        queue("other"),
        running("lesser", 3, priority_class="low"),
        running("spared", 4, priority_class="low", annotations={"volcano.sh/preemptable": "false"}),
        running("equal", 2, priority_class="high"),
        running("elsewhere", 5, "other", priority_class="low"),
        waiting("late", 8, priority_class="high"),
        owner=Capacity,
        actions=(Enqueue, Allocate, Preempt),
    )
    assert could_free(session, "late") == 3000


@pytest.mark.parametrize("actions", [(Enqueue, Allocate), (Enqueue, Allocate, Preempt)])
def test_without_reclaim_other_queues_give_nothing(actions: Any) -> None:
    queues = queue("q0", deserved={"cpu": "8"}), queue("q1", deserved={"cpu": "8"})
    session = opened(*queues, running("early", 16, "q0"), waiting("late", 8, "q1"), owner=Capacity, actions=actions)
    assert could_free(session, "late") == 0


def test_what_one_job_was_admitted_to_take_is_not_there_for_the_next() -> None:
    """Each of the two is within what q1 deserves, and both together are not."""
    admitted = act(
        node("n1", cpu="16"),
        queue("q0", deserved={"cpu": "8"}),
        queue("q1", deserved={"cpu": "8"}),
        running("early", 16, "q0"),
        waiting("first", 8, "q1", age=10),
        waiting("second", 8, "q1"),
        tiers=[[(Overcommit, {"arguments": {"overcommit-factor": 1.0}}), Capacity]],
        actions=[Enqueue, Reclaim],
    )
    assert (phase(admitted, "first"), phase(admitted, "second")) == (Phase.INQUEUE, Phase.PENDING)


@given(
    held=st.lists(st.integers(0, 6), min_size=2, max_size=4).filter(any),
    deserved=st.lists(st.integers(0, 8), min_size=4, max_size=4),
    asked=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=6),
)
@pytest.mark.parametrize("owner", [Proportion, Capacity], ids=["proportion", "capacity"])
def test_no_more_is_promised_than_there_is_once_all_is_taken(
    owner: Any, held: list[int], deserved: list[int], asked: list[tuple[int, int]]
) -> None:
    """What is admitted fits into the cluster without what queues hold beyond what they deserve by then."""
    names = [f"q{number}" for number in range(len(held))]
    admitted = act(
        node("n1", cpu=str(sum(held))),
        *[queue(name, deserved={"cpu": str(amount)}) for name, amount in zip(names, deserved, strict=False)],
        *[running(f"run{name}", count, name) for name, count in zip(names, held, strict=True) if count],
        *[waiting(f"job{n}", cpu, names[which % len(names)]) for n, (which, cpu) in enumerate(asked)],
        tiers=[[(Overcommit, {"arguments": {"overcommit-factor": 1.0}}), owner]],
        actions=[Enqueue, Reclaim],
    )
    promised = dict.fromkeys(names, 0)
    for number, (which, cpu) in enumerate(asked):
        if phase(admitted, f"job{number}") is Phase.INQUEUE:
            promised[names[which % len(names)]] += cpu
    reports = admitted.plugin(owner).describe_queues()
    entitled = {name: reports[name]["deserved"].get("cpu", 0) // 1000 for name in names}
    if owner is Capacity:
        assert all(not promised[name] or promised[name] + held[at] <= entitled[name] for at, name in enumerate(names))
    beyond = sum(max(held[at] - entitled[name], 0) for at, name in enumerate(names)) if owner is Capacity else sum(held)
    assert sum(promised.values()) <= beyond
