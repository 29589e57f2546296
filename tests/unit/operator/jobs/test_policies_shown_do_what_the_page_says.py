"""The page "Policies": its Jobs live through what it says of them, its table is what the plan does, and its picture
shows the state machine."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from tests.support.jobs.job_cluster import NAMESPACE, JobCluster
from tests.support.jobs.job_objects import NOW, failed, group, job, names, pods, task
from tests.unit.docs.pages import PROJECT, blocks
from volcano_py.jobs.actions import DeletePods, WriteStatus
from volcano_py.jobs.model import JobAction, JobPhase, VolcanoJob
from volcano_py.jobs.phases import asked_for
from volcano_py.jobs.plan import Request, World, plan

PAGE: Final = PROJECT / "docs" / "guide" / "policies.md"
PICTURE: Final = PROJECT / "docs" / "images" / "job_phases.py"


async def running(cluster: JobCluster, name: str) -> None:
    """The Job of that file on the page, when it runs."""
    (block,) = [block for block in blocks(PAGE) if block.marks.get("file") == f"{name}.yaml"]
    (manifest,) = block.documents
    cluster.submit({**manifest, "metadata": {**manifest["metadata"], "namespace": NAMESPACE, "generation": 1}})
    await cluster.live()
    assert cluster.phase(name) == "Running"


# -- a gang that starts again -----------------------------------------------------------------------------------------


async def test_when_one_pod_of_a_gang_fails_all_are_created_again(cluster: JobCluster) -> None:
    await running(cluster, "train")
    cluster.pod_is("train-worker-1", "Failed", exit_code=1)
    await cluster.live()
    cluster.remove_pod("train-master-0")
    await cluster.live()
    assert (cluster.phase(), cluster.status()["version"], cluster.status()["retryCount"]) == ("Running", 2, 2)
    assert set(cluster.created.values()) == {1}
    assert len(cluster.created) == 9  # three pods, made three times


async def test_the_last_try_of_a_gang_ends_in_failure_and_keeps_what_has_finished(cluster: JobCluster) -> None:
    await running(cluster, "train")
    for _ in range(3):
        cluster.pod_is("train-worker-0", "Failed", exit_code=1)
        await cluster.live()
    assert (cluster.phase(), cluster.pods()) == ("Failed", {"train-worker-0": "Failed"})


async def test_a_gang_that_makes_room_for_others_has_all_its_tries(cluster: JobCluster) -> None:
    await running(cluster, "train")
    for version in (1, 2, 3):
        cluster.evict({"train-master-0": 1, "train-worker-0": 2, "train-worker-1": 1})
        await cluster.live()
        status = cluster.status()
        assert (cluster.phase(), status["version"], status.get("retryCount", 0)) == ("Running", version, 0)
        assert "PodEvicted of pod train-master-0 by the scheduler" in cluster.messages("ExecuteAction")[-1]
    assert len(cluster.messages("ExecuteAction")) == 3


async def test_a_gang_ends_with_its_master(cluster: JobCluster) -> None:
    await running(cluster, "train")
    cluster.pod_is("train-master-0", "Succeeded", exit_code=0)
    await cluster.live()
    assert (cluster.phase(), cluster.pods()) == ("Completed", {"train-master-0": "Succeeded"})


# -- pods that do not need each other --------------------------------------------------------------------------------


async def test_a_pod_of_a_search_is_created_again_alone(cluster: JobCluster) -> None:
    await running(cluster, "search")
    cluster.pod_is("search-worker-2", "Failed", exit_code=1)
    await cluster.live()
    assert (cluster.phase("search"), cluster.status("search")["retryCount"]) == ("Running", 1)
    assert cluster.pod("search-worker-2")["metadata"]["annotations"]["volcano.sh/job-retry-count"] == "1"
    assert cluster.pod("search-worker-1")["metadata"]["annotations"]["volcano.sh/job-retry-count"] == "0"


async def test_an_exit_code_that_makes_another_try_useless_ends_the_search(cluster: JobCluster) -> None:
    await running(cluster, "search")
    cluster.pod_is("search-worker-2", "Failed", exit_code=42)
    await cluster.live()
    assert (cluster.phase("search"), cluster.pods()) == ("Terminated", {"search-worker-2": "Failed"})


async def test_a_search_that_finds_no_room_stops_after_half_an_hour(cluster: JobCluster) -> None:
    cluster.runs = lambda name: name != "search-worker-3"
    await running(cluster, "search")
    await cluster.live(29 * 60)
    assert cluster.phase("search") == "Running"
    await cluster.live(60)
    assert (cluster.phase("search"), cluster.pods()) == ("Aborted", {})


# -- a service with patience -----------------------------------------------------------------------------------------


def tries(cluster: JobCluster) -> int:
    return int(cluster.status("serve").get("retryCount", 0))


async def test_an_evicted_server_may_come_back_within_ten_minutes(cluster: JobCluster) -> None:
    await running(cluster, "serve")
    cluster.remove_pod("serve-server-0")
    await cluster.live(15 * 60)
    assert (cluster.phase("serve"), tries(cluster)) == ("Running", 0)


async def test_a_server_that_does_not_come_back_has_all_restarted(cluster: JobCluster) -> None:
    await running(cluster, "serve")
    cluster.runs = lambda name: name != "serve-server-0"
    cluster.remove_pod("serve-server-0")
    await cluster.live(9 * 60)
    assert tries(cluster) == 0
    await cluster.live(2 * 60)
    assert tries(cluster) == 1


async def test_servers_that_crash_too_often_are_restarted(cluster: JobCluster) -> None:
    await running(cluster, "serve")
    crashed = [{"name": "main", "restartCount": 5}]
    cluster.pod_is("serve-server-1", "Running", containerStatuses=crashed)
    await cluster.live()
    assert (tries(cluster), cluster.phase("serve"), len(cluster.groups())) == (1, "Running", 1)
    assert set(cluster.created) == {(f"serve-server-{index}", "0") for index in (0, 1)}, "a part, so no new version"


async def test_an_edited_service_is_restarted(cluster: JobCluster) -> None:
    await running(cluster, "serve")
    cluster.edit("serve", priorityClassName="high")
    await cluster.live()
    assert (cluster.phase("serve"), cluster.status("serve")["version"]) == ("Running", 1)


# -- what goes -------------------------------------------------------------------------------------------------------

STATES: Final = {f"worker-{index}": "Running" for index in range(4)} | {"other-0": "Running", "other-1": "Succeeded"}
WORDS: Final = {
    # pods that are deleted, of those in STATES that are not worker-1
    "nothing": set[str](),
    "the pod": {"worker-1"},
    "its partition": {"worker-0", "worker-1"},
    "its task": {f"worker-{index}" for index in range(4)},
    "all pods": set(STATES),
}


def rows() -> Iterator[tuple[str, str, str]]:
    """Action, event and what goes, from the table."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| Action |"))
    _, *header = _cells(lines[start])
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        action, *cells = _cells(line)
        for events, what in zip(header, cells, strict=True):
            for event in events.split(", "):
                yield action.strip("`"), event.strip("`"), what


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def happened(event: str, action: str) -> World:
    """A world in which the event has just come to a Job that asks for the action."""
    policies = [{"event": event, "action": action, "timeout": "10m" if event == "PodPending" else ""}]
    partitions = {"totalPartitions": 2, "partitionSize": 2}
    of = job(
        task(replicas=4, partitionPolicy=partitions),
        task("other", 2),
        policies=[] if event == "a Command" else policies,
        minAvailable=1,
    )
    there = pods(of, STATES)
    number = list(STATES).index("worker-1")
    match event:
        case "PodFailed":
            there[number] = failed(there[number], 1)
        case "PodPending":
            there[number] = pods(of, {"worker-1": "Pending"})[0]
        case "TaskFailed":
            crashed = [{"name": "main", "restartCount": 3}]
            status = msgspec.convert({"phase": "Running", "containerStatuses": crashed}, type(there[0].status))
            there[number] = msgspec.structs.replace(there[number], status=status)
        case "TaskCompleted":
            there[:4] = pods(of, {f"worker-{index}": "Succeeded" for index in range(4)})
    of = _counted(of, there)
    if event == "JobUpdated":
        of = msgspec.structs.replace(of, metadata=msgspec.structs.replace(of.metadata, generation=2))
    return World(
        job=of,
        pods=there,
        group=group(of, "Unknown" if event == "Unknown" else "Running"),
        now=NOW + (601 if event == "PodPending" else 0),
        request=Request(JobAction(action)) if event == "a Command" else None,
    )


def _counted(of: VolcanoJob, there: list[Any]) -> VolcanoJob:
    written = plan(World(job=of, pods=there, group=group(of), now=NOW)).actions
    statuses = [each.status for each in written if isinstance(each, WriteStatus) and not each.decides]
    return msgspec.structs.replace(of, status=statuses[0]) if statuses else of


def deleted(world: World) -> set[str]:
    """The pods that go once it is decided."""
    for action in plan(world).actions:
        if isinstance(action, WriteStatus) and action.decides:
            job_then = msgspec.structs.replace(world.job, status=action.status)
            world = replace(world, job=job_then, request=None)
            break
    gone = [names(action.pods) for action in plan(world).actions if isinstance(action, DeletePods)]
    return {name.removeprefix("train-") for some in gone for name in some}


@pytest.mark.parametrize(("action", "event", "what"), list(rows()))
def test_an_action_takes_away_what_the_table_says(action: str, event: str, what: str) -> None:
    world = happened(event, action)
    unfinished = {
        pod.metadata.name.removeprefix("train-")
        for pod in world.pods
        if pod.status.phase not in ("Succeeded", "Failed")
    }
    assert deleted(world) == (unfinished if what == "unfinished pods" else WORDS[what])


def test_the_table_has_every_action_that_a_policy_may_name() -> None:
    assert {action for action, _, _ in rows()} == set(JobAction) - {JobAction.RESUME, JobAction.SYNC}


# -- phases ----------------------------------------------------------------------------------------------------------


def test_the_picture_shows_where_actions_lead() -> None:
    """When this fails: python docs/images/job_phases.py."""
    script = runpy.run_path(str(PICTURE))
    assert PICTURE.with_name("job-phases.svg").read_text(encoding="utf-8") == script["picture"]()
    assert set(script["BOXES"]) == set(JobPhase) - {JobPhase.NEW}
    drawn = {
        (phase, action, to)
        for actions, (phases, to) in script["ACTIONS"].items()
        for action in actions.split(", ")
        for phase in phases
    }
    steps = {
        (phase, action, step.phase)
        for phase in set(JobPhase) - {JobPhase.NEW}
        for action in JobAction
        if (step := asked_for(job(phase=phase), action)) is not None
    }
    assert drawn == steps
