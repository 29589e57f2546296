"""The scheduler evicts all pods of a Job in one cycle; they leave one after the other. The Job's controller answers
that once, whenever it looks, and at whatever request it is killed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.jobs.job_cluster import PODS, JobCluster, job, task

GANG = [f"train-worker-{index}" for index in range(4)]
RESTARTING = [{"event": "PodEvicted", "action": "RestartJob"}]


async def running(cluster: JobCluster, *tasks: dict[str, Any], **spec: Any) -> None:
    cluster.submit(job(*(tasks or [task("worker", 4)]), **spec))
    await cluster.live(3)
    assert cluster.phase() == "Running"


def tries(cluster: JobCluster) -> tuple[int, int]:
    """status.version and status.retryCount."""
    status = cluster.status()
    return status.get("version", 0), status.get("retryCount", 0)


def restarts(cluster: JobCluster) -> list[str]:
    return [message for message in cluster.messages("ExecuteAction") if message.startswith("Restart")]


@pytest.mark.parametrize("event", ["PodEvicted", "*"])
@pytest.mark.parametrize("grace", [[0, 0, 0, 0], [1, 1, 1, 1], [4, 3, 2, 1], [0, 9, 0, 5]])
async def test_the_job_is_restarted_once_and_has_all_its_tries(
    cluster: JobCluster, grace: list[int], event: str
) -> None:
    await running(cluster, policies=[{"event": event, "action": "RestartJob"}])
    cluster.evict(dict(zip(GANG, grace, strict=True)))
    await cluster.live(15)
    assert (cluster.phase(), tries(cluster)) == ("Running", (1, 0))
    assert len(restarts(cluster)) == 1
    assert cluster.created == {(name, version): 1 for name in GANG for version in ("0", "1")}


async def test_it_may_be_displaced_more_often_than_it_may_fail(cluster: JobCluster) -> None:
    await running(cluster, policies=RESTARTING, maxRetry=1)
    for times in (1, 2, 3):
        cluster.evict(dict.fromkeys(GANG, 1))
        await cluster.live()
        assert (cluster.phase(), tries(cluster)) == ("Running", (times, 0))


async def test_a_user_who_deletes_the_gang_uses_up_a_try(cluster: JobCluster) -> None:
    await running(cluster, policies=RESTARTING)
    for name in GANG:
        cluster.remove_pod(name)
    await cluster.live()
    assert (cluster.phase(), tries(cluster)) == ("Running", (1, 1))


async def test_an_eviction_before_says_nothing_of_what_a_user_deletes_now(cluster: JobCluster) -> None:
    await running(cluster, policies=RESTARTING)
    cluster.evict(dict.fromkeys(GANG, 0))
    await cluster.live()
    cluster.remove_pod("train-worker-2")
    await cluster.live()
    assert (cluster.phase(), tries(cluster)) == ("Running", (2, 1))


@pytest.mark.parametrize("action", ["RestartTask", "RestartPod", "RestartPartition"])
async def test_a_part_of_the_job_is_restarted_without_a_try(cluster: JobCluster, action: str) -> None:
    """And one that is evicted whole, by its parts."""
    await running(cluster, task("worker", 4), task("other", 1), policies=[{"event": "PodEvicted", "action": action}])
    cluster.evict({"train-worker-1": 2})
    await cluster.live()
    assert (cluster.phase(), tries(cluster), len(restarts(cluster))) == ("Running", (0, 0), 1)
    again = {"train-worker-1"} if action == "RestartPod" else {*GANG}
    assert {name for (name, _), times in cluster.created.items() if times == 2} == again

    cluster.evict(dict(zip([*GANG, "train-other-0"], [3, 1, 0, 2, 1], strict=True)))
    await cluster.live()
    assert (cluster.phase(), tries(cluster), len(restarts(cluster))) == ("Running", (0, 0), 2)


async def test_a_gang_without_a_policy_comes_back_as_a_gang(cluster: JobCluster) -> None:
    """Its pods are created again, each when its predecessor is gone, in the PodGroup that there was."""
    await running(cluster)
    (group,) = cluster.groups()
    cluster.runs = lambda name: not any("deletionTimestamp" in pod["metadata"] for pod in cluster.of(PODS).values())
    cluster.evict(dict(zip(GANG, [3, 2, 1, 4], strict=True)))
    await cluster.live(15)
    assert cluster.created == {(name, "0"): 2 for name in GANG}
    assert [each["metadata"]["uid"] for each in cluster.groups()] == [group["metadata"]["uid"]]
    assert (tries(cluster), restarts(cluster)) == ((0, 0), [])
    assert cluster.status()["taskStatusCount"] == {"worker": {"phase": {"Running": 4}}}


async def test_with_a_timeout_the_gang_may_come_back_without_a_restart(cluster: JobCluster) -> None:
    await running(cluster, policies=[{**RESTARTING[0], "timeout": "1m"}])
    cluster.evict(dict.fromkeys(GANG, 2))
    await cluster.live(90)
    assert (cluster.phase(), tries(cluster), restarts(cluster)) == ("Running", (0, 0), [])


async def test_a_gang_that_does_not_come_back_in_time_is_restarted_without_a_try(cluster: JobCluster) -> None:
    """A controller that has seen nothing of the eviction knows who did it."""
    await running(cluster, policies=[{**RESTARTING[0], "timeout": "1m"}])
    cluster.runs = lambda name: False
    cluster.evict(dict.fromkeys(GANG, 2))
    await cluster.live(30)
    await cluster.stop()
    cluster.start()
    await cluster.live(40)
    assert (tries(cluster), len(restarts(cluster))) == ((1, 0), 1)


@pytest.mark.parametrize("gone", [0, 1, 3])
async def test_a_controller_that_starts_while_the_pods_leave_knows_who_did_it(cluster: JobCluster, gone: int) -> None:
    """Of pods that were gone before, too, as long as one of them is there."""
    await running(cluster, policies=RESTARTING)
    await cluster.stop()
    cluster.controller = None
    cluster.evict({name: 0 if index < gone else 9 for index, name in enumerate(GANG)})
    await cluster.live(2)
    assert len(cluster.pods()) == 4 - gone
    cluster.start()
    await cluster.live(15)
    assert (cluster.phase(), tries(cluster)) == ("Running", (1, 0))


async def test_what_nobody_saw_leave_counts_as_a_try(cluster: JobCluster) -> None:
    """All of the gang is gone before the controller starts: nothing is left that says who deleted it."""
    await running(cluster, policies=RESTARTING)
    await cluster.stop()
    cluster.controller = None
    cluster.evict(dict.fromkeys(GANG, 0))
    cluster.start()
    await cluster.live()
    assert (cluster.phase(), tries(cluster)) == ("Running", (1, 1))


@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod", ""])
async def test_at_whatever_request_the_controller_is_killed_it_comes_to_the_same_end(api: Any, action: str) -> None:
    policies = [{"event": "PodEvicted", "action": action}] if action else []

    async def lived(killing: tuple[int, bool] | None) -> tuple[dict[str, Any], JobCluster]:
        cluster = JobCluster(type(api)())
        cluster.options["workers"] = 2
        cluster.start()
        await running(cluster, task("worker", 4), task("other", 1), policies=policies)
        cluster.calls, cluster.killing = 0, killing
        cluster.evict(dict(zip([*GANG, "train-other-0"], [2, 3, 5, 2, 4], strict=True)))
        await cluster.live(20)
        await cluster.stop()
        return cluster.summary(), cluster

    expected, undisturbed = await lived(None)
    assert (expected["job"]["phase"], len(expected["pods"])) == ("Running", 5)
    assert expected["job"].get("retryCount", 0) == 0
    assert undisturbed.calls > 5
    for number in range(1, undisturbed.calls + 1):
        for carried_out in (False, True):
            found, cluster = await lived((number, carried_out))
            where = f"killed at request {number} of {undisturbed.calls}, carried out: {carried_out}"
            assert found == expected, where
            assert cluster.created == undisturbed.created, where
