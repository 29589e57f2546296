"""Which jobs enter their queues: minResources against the real capability of the queue and those above it."""

from __future__ import annotations

import pytest

from tests.support.queues.queue_trees import jobs, opened, queue, reported
from tests.support.sessions import Opened, pod_group
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.objects import ApiObject
from volcano_py.framework.votes import Vote
from volcano_py.state.snapshot import Phase

GPU = "nvidia.com/gpu"


def asking(name: str, queue: str, cpu: int, age: float = 0.0) -> ApiObject:
    """A job that waits to be admitted."""
    return pod_group(name, queue=queue, min_resources={"cpu": str(cpu)}, phase="Pending", age=age)


def enqueued(session: Opened) -> list[str]:
    """Run the action; which jobs it has admitted."""
    waiting = [row for row in session.ssn.job_rows().tolist() if session.ssn.ledger.jobs.phase[row] == Phase.PENDING]
    Enqueue(None).execute(session.ssn)
    assert not session.ssn.dispatch.failures.counts
    keys = session.ssn.snapshot.job_keys
    return [keys[row].partition("/")[2] for row in waiting if session.ssn.ledger.jobs.phase[row] == Phase.INQUEUE]


def refusal(session: Opened, job: str) -> str:
    ballot = session.ssn.ask.job_enqueueable(session.job(job))
    assert ballot.vote is Vote.REJECT
    assert ballot.refusal is not None
    return f"{ballot.refusal.reason.value}: {ballot.refusal.message}"


def test_up_to_the_capability_of_the_queue() -> None:
    session = opened(queue("a", capability=10), asking("fits", "a", 10, age=1), asking("more", "a", 1))
    assert enqueued(session) == ["fits"]
    assert refusal(session, "more") == (
        "OverCapability: queue a: 0 cpu allocated + 10 promised + 1 asked > 10 capability; "
        "wait until jobs of the queue finish, or raise its spec.capability"
    )


def test_what_one_queue_is_promised_counts_for_all_queues_above() -> None:
    session = opened(
        queue("a", capability=10), queue("a1", "a"), queue("a2", "a"), jobs("j", "a1", 3, min_resources={"cpu": "3"}),
        asking("one", "a1", 4, age=1), asking("two", "a2", 6),
    )  # fmt: skip
    assert enqueued(session) == ["one"]
    assert refusal(session, "two").startswith("OverCapability: queue a, above a2: 3 cpu allocated + 4 promised + 6 as")
    assert reported(session)["a"]["inqueue"] == {"cpu": 4_000}


def test_what_one_queue_is_promised_beyond_its_part_does_not_block_another_within_its_part() -> None:
    session = opened(
        queue("a", capability=10), queue("a1", "a"), queue("a2", "a"), jobs("j", "a1", 3, min_resources={"cpu": "3"}),
        asking("one", "a1", 4, age=1), asking("two", "a2", 5),
    )  # fmt: skip
    assert enqueued(session) == ["one", "two"]


def test_what_jobs_hold_beyond_their_minimum_does_not_count() -> None:
    elastic = jobs("elastic", "a1", 8, min_resources={"cpu": "2"})
    session = opened(
        queue("a", capability=10), queue("a1", "a"), elastic, asking("eight", "a1", 8), asking("9", "a1", 9)
    )
    assert enqueued(session) == ["eight"]
    assert "2 cpu allocated (and 6 cpu beyond minResources, not counted) + 8 promised + 9 asked > 10" in refusal(
        session, "9"
    )


def test_guarantees_of_others_leave_less() -> None:
    session = opened(queue("a"), queue("b", guarantee=28), asking("j", "a", 101))
    assert refusal(session, "j") == (
        "OverCapability: queue a: 0 cpu allocated + 101 asked > 100 left by other queues' guarantees "
        "(b: 28 cpu); wait until jobs of the queue finish, or lower the guarantees of other queues"
    )


def test_the_queues_whose_guarantees_they_are_are_named_on_every_level() -> None:
    """What is kept next to a leaves less to a1, too; what is kept for a queue below counts for that one alone."""
    session = opened(
        queue("a"), queue("a1", "a"), queue("a2", "a", guarantee=3), queue("b", guarantee=28),
        queue("b1", "b", guarantee=20), asking("j", "a1", 101),
    )  # fmt: skip
    assert "asked > 97 left by other queues' guarantees (b1: 20 cpu, b: 8 cpu, a2: 3 cpu);" in (refusal(session, "j"))


def test_guarantees_that_are_not_in_the_way_are_not_reported() -> None:
    """It is a's own capability that leaves a1 no more, whatever is kept for b."""
    session = opened(
        queue("a", capability=50), queue("a1", "a"), queue("a2", "a", guarantee=3), queue("b", guarantee=28),
        asking("j", "a1", 48),
    )  # fmt: skip
    assert "48 asked > 47 left by other queues' guarantees (a2: 3 cpu);" in refusal(session, "j")


def test_no_job_larger_than_the_cluster_is_admitted() -> None:
    """A node more would help, and autoscalers hear of it."""
    session = opened(queue("a"), asking("j", "a", 129))
    assert refusal(session, "j").startswith(
        "ClusterOvercommitted: queue a: 0 cpu allocated + 129 asked > 128 in the wh"
    )


def test_a_full_cluster_admits_jobs_within_what_their_queue_deserves() -> None:
    """Or it could never reclaim what the others have borrowed."""
    session = opened(
        queue("a", deserved=64),
        queue("b", deserved=64),
        jobs("borrower", "b", 128, min_resources={"cpu": "128"}),
        asking("entitled", "a", 60, age=1),
        asking("beyond", "a", 5),
    )
    assert enqueued(session) == ["entitled"]
    assert refusal(session, "beyond").startswith(
        "ClusterOvercommitted: queue root, above a: 128 cpu allocated + 60 promised + 5 asked > 128 in the whole clu"
    )


def test_every_queue_below_the_full_one_must_stay_within_what_it_deserves() -> None:
    session = opened(
        queue("a", deserved=64), queue("a1", "a", deserved=4), queue("a2", "a", deserved=60), queue("b"),
        jobs("borrower", "b", 128, min_resources={"cpu": "128"}),
        asking("entitled", "a2", 5), asking("not", "a1", 5),
    )  # fmt: skip
    assert enqueued(session) == ["entitled"]


def test_what_a_queue_deserves_does_not_lift_its_own_ceiling() -> None:
    session = opened(queue("a", deserved=64, capability=8), asking("j", "a", 9))
    assert enqueued(session) == []


def test_side_by_side_only_the_queue_itself_counts() -> None:
    session = opened(
        queue("a", capability=2), queue("a1", "a"), jobs("b", "default", 128, min_resources={"cpu": "128"}),
        asking("j", "a1", 100), hierarchy=False,
    )  # fmt: skip
    assert enqueued(session) == ["j"]


def test_jobs_without_min_resources_enter() -> None:
    session = opened(queue("a", capability=1), pod_group("j", queue="a", phase="Pending"))
    assert enqueued(session) == ["j"]
    assert session.ssn.ask.job_enqueueable(session.job("j")).vote is Vote.PERMIT


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("shut", "QueueClosed: queue shut is Closed"),
        ("inner", "InvalidQueue: queue inner: has queues below it (leaf)"),
        ("lost", "InvalidQueue: queue lost: spec.parent is gone, which does not exist"),
    ],
)
def test_a_queue_that_runs_no_jobs_lets_none_in(where: str, reason: str) -> None:
    session = opened(
        queue("shut", state="Closed"), queue("inner"), queue("leaf", "inner"), queue("lost", "gone"),
        asking("j", where, 1), asking("fine", "leaf", 1),
    )  # fmt: skip
    assert enqueued(session) == ["fine"]
    assert refusal(session, "j").startswith(reason)


def test_devices_and_places_for_pods() -> None:
    session = opened(
        queue("a", capability={GPU: "1", "pods": "1"}),
        pod_group("two", queue="a", min_resources={GPU: "2"}, phase="Pending"),
        pod_group("pods", queue="a", min_resources={"pods": "5", GPU: "1"}, phase="Pending"),
        devices={GPU: "8"},
    )
    assert enqueued(session) == ["pods"]


def test_a_gang_that_is_admitted_again_counts_once() -> None:
    """It has lost a pod, and holds the other two."""
    again = jobs("again", "a", 3, running=2, min_member=3, min_resources={"cpu": "3"}, group_phase="Pending", age=9)
    session = opened(queue("a", capability=5), again, asking("fits", "a", 2, age=1), asking("more", "a", 1))
    assert enqueued(session) == ["again", "fits"]
