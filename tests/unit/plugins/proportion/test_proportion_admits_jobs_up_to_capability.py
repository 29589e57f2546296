"""proportion and enqueue: which jobs may enter a queue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group, queue
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.api.reasons import Reason
from volcano_py.framework.votes import Vote
from volcano_py.plugins.proportion import Proportion
from volcano_py.state.task_class import Refusal

TEN = {"capability": {"cpu": "10"}}


def opened(*objects: Objects, **q1: Any) -> Opened:
    """A cluster of 100 cpu with a queue `q1`, of capability 10 cpu unless set otherwise."""
    return open_session(
        node("n1", cpu="100"), queue("q1", **(q1 or TEN)), *objects, tiers=[[Proportion]], actions=[Enqueue]
    )


def waiting(name: str, cpu: str | None, **more: str) -> Objects:
    """A pending PodGroup that asks for so much."""
    minimum = None if cpu is None else {"cpu": cpu, **more}
    return pod_group(name, queue="q1", phase="Pending", min_resources=minimum)


def enqueued(name: str, cpu: str, **fields: Any) -> Objects:
    return pod_group(name, queue="q1", min_resources={"cpu": cpu}, **fields)


def running(name: str, pods: int, *, minimum: str | None, min_member: int = 1, extra: int = 0) -> Objects:
    """A job with so many running pods of 1 cpu, and some more that wait."""
    return gang(
        name,
        pods=pods + extra,
        min_member=min_member,
        queue="q1",
        cpu="1",
        min_resources=None if minimum is None else {"cpu": minimum},
        running_on=["n1"] * pods,
    )


def may_enter(session: Opened, job: str) -> bool:
    return session.ssn.ask.job_enqueueable(session.job(job)).vote is not Vote.REJECT


def largest_that_may_enter(*objects: Objects) -> int:
    """Cores of the largest job that is admitted in addition to the objects."""
    sizes = range(21)
    session = opened(*objects, *(waiting(f"of-{cpu}", str(cpu)) for cpu in sizes))
    return max(cpu for cpu in sizes if may_enter(session, f"of-{cpu}"))


def test_a_job_without_min_resources_always_enters() -> None:
    session = opened(enqueued("hog", "500"), waiting("any", None))
    assert may_enter(session, "any")


@pytest.mark.parametrize(
    ("objects", "left"),
    [
        ([], 10),
        ([enqueued("promised", "4")], 6),
        ([running("job", 3, minimum="3")], 7),
        ([running("job", 3, minimum="5")], 5),
        ([running("job", 3, minimum="2")], 8),
        ([running("job", 3, minimum=None)], 10),
        ([running("job", 1, minimum="5", min_member=2, extra=1)], 9),
        ([pod_group("old", queue="q1", phase="Completed", min_resources={"cpu": "9"})], 10),
        ([pod_group("odd", queue="q1", phase="Unknown", min_resources={"cpu": "9"})], 10),
        ([pod_group("other", queue="default", min_resources={"cpu": "9"})], 10),
    ],
    ids=[
        "nothing there",
        "what was promised",
        "what is held",
        "what is held and outstanding",
        "what is held beyond minResources can be had back",
        "without minResources all of it can be had back",
        "below its minimum a job is owed nothing more",
        "a completed job",
        "a job in an unknown state",
        "a job of another queue",
    ],
)
def test_what_counts_against_the_capability(objects: list[Objects], left: int) -> None:
    assert largest_that_may_enter(*objects) == left


@pytest.mark.parametrize(("gate", "left"), [("example.com/wait", 7), (QUEUE_ALLOCATION_GATE, 4)])
def test_gated_pods_are_not_promised_anything_but_for_volcanos_own_gate(gate: str, left: int) -> None:
    objects = [
        enqueued("promised", "6", min_member=2),
        pod("promised-0", group="promised", cpu="3"),
        pod("promised-1", group="promised", cpu="3", gates=[gate]),
    ]
    assert largest_that_may_enter(*objects) == left


def test_jobs_that_enter_count_for_those_after_them() -> None:
    session = opened(waiting("first", "7"), waiting("second", "4"), waiting("third", "3"))
    Enqueue(None).execute(session.ssn)
    phases = {name: session.job(name).phase.text for name in ("first", "second", "third")}
    assert phases == {"first": "Inqueue", "second": "Pending", "third": "Inqueue"}
    assert session.plugin(Proportion).describe_queues()["q1"]["inqueue"] == {"cpu": 10_000}


def test_what_is_placed_in_the_same_cycle_does_not_count_twice() -> None:
    session = opened(enqueued("job", "6"), pod("job-0", group="job", cpu="6"), waiting("next", "4"))
    session.place("job", {"job-0": "n1"}).commit()
    assert may_enter(session, "next")


def test_only_the_resources_asked_for_matter() -> None:
    session = opened(enqueued("hog", "10"), waiting("memory", "0", memory="1Gi"), waiting("pods", "0", pods="999"))
    assert may_enter(session, "memory")
    assert may_enter(session, "pods")


def refusal(session: Opened, job: str) -> Refusal:
    found = session.ssn.ask.job_enqueueable(session.job(job)).refusal
    assert found is not None
    return found


def test_the_refusal_says_what_is_held_promised_and_asked() -> None:
    session = opened(running("job", 3, minimum="2"), enqueued("promised", "4"), waiting("late", "5"))
    assert refusal(session, "late") == Refusal(
        Reason.OVER_CAPABILITY,
        "queue q1: 2 cpu allocated (and 1 cpu beyond minResources, not counted) + 4 promised + 5 asked > 10 "
        "capability; wait until jobs of the queue finish, or raise its spec.capability",
    )


def test_without_capability_the_cluster_is_the_limit() -> None:
    session = opened(enqueued("promised", "60"), waiting("fits", "40"), waiting("late", "41"), weight=1)
    assert may_enter(session, "fits")
    assert refusal(session, "late") == Refusal(
        Reason.CLUSTER_OVERCOMMITTED,
        "queue q1: 0 cpu allocated + 60 promised + 41 asked > 100 in the whole cluster; "
        "wait until jobs finish, or add nodes",
    )


def test_guarantees_of_others_are_the_limit_too() -> None:
    session = opened(queue("vip", guarantee={"cpu": "70"}), waiting("late", "31"), weight=1)
    assert refusal(session, "late").reason is Reason.OVER_CAPABILITY
    assert "> 30 left by other queues' guarantees (vip: 70 cpu);" in refusal(session, "late").message


@pytest.mark.parametrize("minimum", [None, "1"])
def test_a_closed_queue_admits_no_job(minimum: str | None) -> None:
    session = opened(waiting("any", minimum), state="Closed")
    assert refusal(session, "any").reason is Reason.QUEUE_CLOSED


def test_a_gang_that_is_admitted_again_counts_once() -> None:
    """It has lost a pod, and holds the other two."""
    again = gang(
        "a",
        pods=3,
        queue="q1",
        cpu="2",
        min_resources={"cpu": "6"},
        running_on=["n1"] * 2,
        group_phase="Pending",
    )
    session = opened(again, waiting("fits", "4"), waiting("too-much", "1"))
    Enqueue(None).execute(session.ssn)
    phases = [session.job(name).phase.text for name in ("a", "fits", "too-much")]
    assert phases == ["Inqueue", "Inqueue", "Pending"]
