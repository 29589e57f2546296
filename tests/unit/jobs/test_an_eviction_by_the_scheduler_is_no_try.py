"""Pods that the scheduler evicts have the job restarted as its policies say, once, and its tries stay as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.support.jobs.job_objects import NOW, evicted, failed, group, job, moment, names, pods, task
from volcano_py.api.objects import Pod
from volcano_py.jobs.actions import CreatePods, DeletePods, WriteStatus
from volcano_py.jobs.model import JobStatus, VolcanoJob
from volcano_py.jobs.plan import Plan, World, plan

FOUR = {f"worker-{index}": "Running" for index in range(4)}


def running(states: dict[str, str], *tasks: dict[str, Any], **spec: Any) -> tuple[VolcanoJob, list[Pod]]:
    """A job whose status counts these pods, and the pods."""
    of = job(*(tasks or [task(replicas=4)]), **spec)
    there = pods(of, states)
    (written,) = (each.status for each in plan(seen(of, there)).actions if isinstance(each, WriteStatus))
    return msgspec.structs.replace(of, status=written), there


def seen(of: VolcanoJob, there: Sequence[Pod], **fields: Any) -> World:
    return World(job=of, pods=there, **{"group": group(of), "now": NOW, **fields})


def decided(made: Plan) -> JobStatus:
    """The one action is a change of phase."""
    (action,) = made.actions
    assert isinstance(action, WriteStatus)
    assert action.decides
    return action.status


def on(event: str, action: str, **fields: str) -> list[dict[str, Any]]:
    return [{"event": event, "action": action, **fields}]


# -- a whole gang ----------------------------------------------------------------------------------------------------

HOW_FAR = {
    "all are leaving": (4, 0),
    "one is leaving, the others are about to be evicted": (1, 0),
    "two are gone, two are leaving": (2, 2),
    "all are gone": (0, 4),
}


@pytest.mark.parametrize("event", ["PodEvicted", "*"])
@pytest.mark.parametrize("how_far", HOW_FAR)
def test_a_gang_that_is_evicted_whole_is_restarted_without_a_try(how_far: str, event: str) -> None:
    leaving, gone = HOW_FAR[how_far]
    of, there = running(FOUR, policies=on(event, "RestartJob"), maxRetry=1)
    last = [evicted(pod) for pod in there[:gone]]
    left = [evicted(pod) for pod in there[gone : gone + leaving]] + there[gone + leaving :]
    made = plan(seen(of, left, gone=last))
    status = decided(made)
    assert (status.state.phase, status.version, status.retry_count) == ("Restarting", 1, 0)
    cause = "requested by a policy on PodEvicted of pod train-worker-0 by the scheduler"
    why = f"{cause}; this restart does not count toward maxRetry"
    assert status.state.message == why
    assert [event.message for event in made.events] == [f"RestartJob: {why}"]


def test_pods_that_leave_one_after_the_other_are_one_event() -> None:
    """From the first pod that leaves to the last that is gone there is one restart, and all are created again."""
    of, there = running(FOUR, policies=on("PodEvicted", "RestartJob"))
    of = msgspec.structs.replace(of, status=decided(plan(seen(of, [evicted(there[0]), *there[1:]]))))
    left, last = [evicted(pod) for pod in there], list[Pod]()
    phases = []
    while left:
        last.append(left.pop())
        world = seen(of, left, gone=last, group=None)
        for action in plan(world).actions:
            assert isinstance(action, WriteStatus), action
            phases.append(action.status.state.phase)
            of = msgspec.structs.replace(of, status=action.status)
    assert set(phases[:-1]) == {"Restarting"}
    assert (phases[-1], of.status.version, of.status.retry_count) == ("Pending", 1, 0)
    (made,) = [each for each in plan(seen(of, [], gone=last)).actions if isinstance(each, CreatePods)]
    assert names(made.bodies) == [f"train-{name}" for name in FOUR]


def test_without_a_policy_the_pods_of_a_gang_are_created_again_in_the_same_group() -> None:
    of, there = running(FOUR)
    made = plan(seen(of, [], gone=[evicted(pod) for pod in there]))
    counts, creation = made.actions
    assert isinstance(counts, WriteStatus)
    assert (counts.decides, counts.status.version, counts.status.retry_count) == (False, 0, 0)
    assert isinstance(creation, CreatePods)
    assert names(creation.bodies) == [f"train-{name}" for name in FOUR]
    assert {each["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for each in creation.bodies} == {
        "train-job-uid"
    }


# -- a part ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "restarted"),
    [
        ("RestartPod", []),
        ("RestartPartition", ["train-worker-0"]),
        ("RestartTask", ["train-worker-0", "train-worker-2", "train-worker-3"]),
    ],
)
def test_a_part_is_restarted_without_a_try(action: str, restarted: list[str]) -> None:
    """The evicted pod is going; what is to be restarted with it is deleted, and nothing of another task."""
    partitioned = task(replicas=4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})
    of, there = running(FOUR | {"other-0": "Running"}, partitioned, task("other"), policies=on("PodEvicted", action))
    there[1] = evicted(there[1])
    status = decided(plan(seen(of, there)))
    assert (status.state.phase, status.version, status.retry_count) == ("Restarting", 0, 0)
    of = msgspec.structs.replace(of, status=status)
    deleted = [names(each.pods) for each in plan(seen(of, there)).actions if isinstance(each, DeletePods)]
    assert deleted == ([restarted] if restarted else [])
    left = [pod for pod in there if pod.metadata.name not in (*restarted, "train-worker-1")]
    status = decided(plan(seen(of, left)))
    assert (status.state.phase, status.retry_count, "restarting" in status.controlled_resources) == (
        "Pending",
        0,
        False,
    )


def test_a_pod_that_fails_next_to_an_evicted_one_counts() -> None:
    """Both are restarted together."""
    of, there = running(FOUR, policies=[{"events": ["PodFailed", "PodEvicted"], "action": "RestartPod"}])
    status = decided(plan(seen(of, [failed(there[0], 1), evicted(there[1]), *there[2:]])))
    assert (status.retry_count, status.controlled_resources["restarting"]) == (1, "pod/worker/0 pod/worker/1")


# -- whose doing it is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod"])
def test_a_pod_that_a_user_deletes_counts(action: str) -> None:
    of, there = running(FOUR, policies=on("PodEvicted", action))
    for left in (there[1:], [*pods(of, {"worker-0": "Running!"}), *there[1:]]):
        status = decided(plan(seen(of, left)))
        assert (status.state.phase, status.retry_count) == ("Restarting", 1)
        assert "by the scheduler" not in status.state.message


@pytest.mark.parametrize("reason", ["EvictionByEvictionAPI", "DeletionByTaintManager", ""])
def test_an_eviction_by_others_counts(reason: str) -> None:
    of, there = running(FOUR, policies=on("PodEvicted", "RestartJob"))
    assert decided(plan(seen(of, [evicted(there[0], reason), *there[1:]]))).retry_count == 1


def test_what_the_scheduler_gave_up_to_evict_counts_when_a_user_deletes_it_later() -> None:
    """Kubernetes takes the condition back then."""
    of, there = running(FOUR, policies=on("PodEvicted", "RestartJob"))
    assert decided(plan(seen(of, [evicted(there[0], status="False"), *there[1:]]))).retry_count == 1


def test_a_pod_that_is_about_to_be_evicted_is_there() -> None:
    """Its condition is written before it is deleted."""
    of, there = running(FOUR, policies=on("PodEvicted", "RestartJob"))
    marked = evicted(there[0])
    metadata = msgspec.structs.replace(marked.metadata, deletion_timestamp=None)
    assert plan(seen(of, [msgspec.structs.replace(marked, metadata=metadata), *there[1:]])).actions == ()


def test_a_pod_that_fails_counts_as_before() -> None:
    of, there = running(FOUR, policies=on("*", "RestartJob"))
    assert decided(plan(seen(of, [failed(there[0], 1), *there[1:]]))).retry_count == 1


def test_evicted_pods_of_an_earlier_version_say_nothing_of_this_one() -> None:
    """They may still be leaving when a user deletes a pod."""
    of, before = running(FOUR, policies=on("PodEvicted", "RestartJob"))
    of = msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, version=1))
    now = pods(of, FOUR)
    assert decided(plan(seen(of, [evicted(before[0]), *now[2:]], gone=[evicted(before[1])]))).retry_count == 1


def test_of_several_missing_pods_the_one_that_the_scheduler_evicted_is_the_lost_one() -> None:
    """The other was never created."""
    states = {name: phase for name, phase in FOUR.items() if name != "worker-1"}
    of, there = running(states, policies=on("PodEvicted", "RestartPod"), minAvailable=2)
    status = decided(plan(seen(of, [there[0], evicted(there[1]), there[2]])))
    assert (status.retry_count, status.controlled_resources["restarting"]) == (0, "pod/worker/2")


def test_a_gang_that_is_incomplete_because_of_an_eviction_is_no_other_matter() -> None:
    """Its PodGroup is Unknown while some of its pods are still there, and `*` means that, too."""
    of, there = running(FOUR, policies=on("*", "RestartJob"))
    left = [evicted(there[0]), *there[1:]]
    status = decided(plan(seen(of, left, group=group(of, "Unknown"))))
    assert (status.state.phase, status.retry_count) == ("Restarting", 0)
    status = decided(plan(seen(of, there, group=group(of, "Unknown"))))
    assert (status.state.phase, status.retry_count) == ("Restarting", 1)


@pytest.mark.parametrize("retries", [0, 2])
def test_a_job_has_as_many_tries_left_after_an_eviction_as_before(retries: int) -> None:
    of, there = running(FOUR, policies=on("*", "RestartJob"), maxRetry=3)
    of = msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, retry_count=retries))
    status = decided(plan(seen(of, [evicted(pod) for pod in there])))
    assert (status.state.phase, status.version, status.retry_count) == ("Restarting", 1, retries)
    of = msgspec.structs.replace(of, status=status)
    assert decided(plan(seen(of, [], group=None))).state.phase == "Pending"


@pytest.mark.parametrize(
    ("action", "phase"), [("AbortJob", "Aborting"), ("TerminateJob", "Terminating"), ("CompleteJob", "Completing")]
)
def test_other_actions_are_carried_out_as_ever(action: str, phase: str) -> None:
    of, there = running(FOUR, policies=on("PodEvicted", action))
    status = decided(plan(seen(of, [evicted(pod) for pod in there])))
    assert (status.state.phase, status.retry_count) == (phase, 0)
    assert status.state.message == "requested by a policy on PodEvicted of pod train-worker-0 by the scheduler"


# -- with a timeout --------------------------------------------------------------------------------------------------


def test_who_evicted_a_pod_is_noted_while_a_policy_waits_for_it() -> None:
    """When the time is over, nothing else shows it."""
    of, there = running(FOUR, policies=on("PodEvicted", "RestartJob", timeout="1m"))
    status = decided(plan(seen(of, there[2:], gone=[evicted(pod) for pod in there[:2]])))
    assert status.controlled_resources["evicted"] == f"worker/0@{moment()}/scheduler worker/1@{moment()}/scheduler"
    of = msgspec.structs.replace(of, status=status)
    again = pods(of, {"worker-0": "Pending", "worker-1": "Pending"}) + there[2:]
    of = msgspec.structs.replace(of, status=decided(plan(seen(of, again))))
    assert (of.status.state.phase, plan(seen(of, again)).look_again_at) == ("Pending", NOW + 60)
    status = decided(plan(replace(seen(of, again), now=NOW + 60)))
    assert (status.state.phase, status.version, status.retry_count) == ("Restarting", 1, 0)
    assert "evicted" not in status.controlled_resources


def test_a_pod_that_a_user_deleted_before_counts_though_the_scheduler_evicts_another_one_later() -> None:
    of, there = running(FOUR, policies=on("PodEvicted", "RestartJob", timeout="1m"), minAvailable=1)
    of = msgspec.structs.replace(of, status=decided(plan(seen(of, there[1:]))))
    later = replace(seen(of, [evicted(there[1]), *there[2:]]), now=NOW + 30)
    of = msgspec.structs.replace(of, status=decided(plan(later)))
    assert of.status.controlled_resources["evicted"] == f"worker/0@{moment()} worker/1@{moment(30)}/scheduler"
    assert decided(plan(replace(later, job=of, now=NOW + 60))).retry_count == 1
