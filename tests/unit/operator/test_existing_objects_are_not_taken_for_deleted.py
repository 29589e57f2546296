"""Lists that were begun before something was made, and conflicts: the controllers of Jobs, CronJobs and JobFlows do not
conclude from either that an object is gone, and never ask without end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import orjson
import pytest

from tests.support.jobs.job_cluster import GROUPS, PODS, JobCluster, job, task
from tests.support.jobs.killable import KillableCluster
from tests.support.jobs.maker_cluster import CRONS, JOBS, MakerCluster
from tests.support.virtual_time import LoopClock
from tests.unit.operator.jobs import test_cron_job_controller as crons
from tests.unit.operator.jobs import test_job_flow_controller as flows
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.cluster.kubernetes.http.client import Page
from volcano_py.cluster.kubernetes.http.errors import api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.kinds import POD
from volcano_py.cluster.kubernetes.watching.reflector import Reflector
from volcano_py.jobs.model import VolcanoJob

LOOPS = 500
"""Requests after which a controller is stopped: in a loop without a pause no time would pass."""


@pytest.fixture
async def cluster(api: Any) -> AsyncIterator[JobCluster]:
    cluster = JobCluster(api)
    yield cluster
    await cluster.stop()


@pytest.fixture
async def flow(api: Any) -> AsyncIterator[MakerCluster]:
    made = MakerCluster(api, flows.controller)
    yield made
    await made.stop()


@pytest.fixture
async def cron(api: Any) -> AsyncIterator[MakerCluster]:
    made = MakerCluster(api, crons.controller)
    yield made
    await made.stop()


def asked_from_now_on(cluster: KillableCluster[Any]) -> list[str]:
    """What is asked of the API server."""
    asked: list[str] = []

    def note(verb: str, path: str) -> None:
        asked.append(f"{verb} {path}")
        if len(asked) == LOOPS:
            cluster.leads = False

    cluster.api.on_request = note
    return asked


def listed_without(cluster: KillableCluster[Any], kind: str, root: str, of: type[ApiObject]) -> None:
    """The controller is shown a list without the objects, and each of them right afterwards."""
    assert cluster.controller is not None
    objects: list[ApiObject] = [msgspec.convert(obj, of, strict=False) for obj in cluster.of(root).values()]
    assert objects
    cluster.controller.replace(kind, [])
    for each in objects:
        cluster.controller.upsert(kind, each)


class _Stream:
    """A watch that brings the pods after a version, and then nothing."""

    heard = True

    def __init__(self, cluster: JobCluster, after: int) -> None:
        self._cluster, self._reported, self.last_data = cluster, after, 0.0
        self._is_open = True

    def abort(self) -> None:
        self._is_open = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._is_open:
            for pod in list(self._cluster.of(PODS).values()):
                version = int(pod["metadata"]["resourceVersion"])
                if version > self._reported:
                    self._reported = version
                    yield orjson.dumps({"type": "MODIFIED", "object": pod})
            await asyncio.sleep(0.1)


class _LateLists:
    """A client whose lists of pods take so long that pods are made meanwhile."""

    def __init__(self, cluster: JobCluster) -> None:
        self._cluster = cluster

    async def pages(self, path: ApiPath, *_: Any, **__: Any) -> AsyncIterator[Page]:
        assert path == POD.path
        version, items = str(self._cluster.api._version), list(self._cluster.of(PODS).values())
        await asyncio.sleep(1.5)
        yield msgspec.json.decode(orjson.dumps({"metadata": {"resourceVersion": version}, "items": items}), type=Page)

    @contextlib.asynccontextmanager
    async def watch(self, path: ApiPath, parameters: Any, **_: Any) -> AsyncIterator[_Stream]:
        yield _Stream(self._cluster, int(parameters["resourceVersion"]))


@pytest.mark.parametrize("policies", [[], [{"event": "PodEvicted", "action": "RestartJob"}]])
async def test_pods_that_are_created_while_pods_are_listed_are_created_once(
    cluster: JobCluster, policies: list[dict[str, str]]
) -> None:
    """As when the API server has forgotten where the watch was, and with the list of each hour."""

    class Sink:
        def replace(self, kind: str, objects: Any) -> None:
            assert cluster.controller is not None
            cluster.controller.replace(kind, objects)

        def upsert(self, kind: str, obj: ApiObject) -> None:
            assert cluster.controller is not None
            cluster.controller.upsert(kind, obj)

        def delete(self, kind: str, obj: ApiObject) -> None:
            assert cluster.controller is not None
            cluster.controller.delete(kind, obj)

    reflector = Reflector(_LateLists(cluster), POD, sink := Sink(), clock=LoopClock())  # type: ignore[arg-type]
    cluster.options["learn"] = lambda kind, obj: reflector.learn(obj) if kind == POD.name else sink.upsert(kind, obj)
    cluster.reports_of = lambda kind: kind != POD.name
    cluster.start()
    following = asyncio.ensure_future(reflector.run())
    await cluster.live(3)
    again = asyncio.ensure_future(reflector.relist())
    asked = asked_from_now_on(cluster)
    cluster.submit(job(task("worker", 2), policies=policies))
    await cluster.live(10)
    following.cancel()
    assert again.done()
    assert len(asked) < 20
    assert (cluster.phase(), cluster.status().get("version", 0)) == ("Running", 0)
    assert set(cluster.created.values()) == {1}


@pytest.mark.parametrize("policies", [[], [{"event": "PodEvicted", "action": "RestartJob"}]])
async def test_pods_that_come_back_after_a_list_are_taken_up_again(
    cluster: JobCluster, policies: list[dict[str, str]]
) -> None:
    cluster.start()
    cluster.submit(job(task("worker", 2), policies=policies))
    await cluster.live(3)
    asked = asked_from_now_on(cluster)
    listed_without(cluster, "Pod", PODS, Pod)
    await cluster.live(5)
    assert (cluster.phase(), asked) == ("Running", [])


async def test_a_flow_takes_up_jobs_again_that_come_back_after_a_list(flow: MakerCluster) -> None:
    flow.takes = 1000
    flow.start()
    flows.submit(flow, flows.steps("a"))
    await flow.live(3)
    asked = asked_from_now_on(flow)
    listed_without(flow, "VolcanoJob", JOBS, VolcanoJob)
    await flow.live(5)
    assert asked == []


async def test_a_cron_job_that_forbids_a_second_job_makes_none_after_a_list(cron: MakerCluster) -> None:
    cron.takes = 1000
    cron.start()
    cron.submit(CRONS, "tick", crons.spec(concurrencyPolicy="Forbid"))
    await cron.live(62)
    listed_without(cron, "VolcanoJob", JOBS, VolcanoJob)
    await cron.live(120)
    assert list(cron.jobs()) == [crons.due(1)]


async def test_a_conflict_on_the_pod_group_is_no_proof_that_it_is_gone(cluster: JobCluster) -> None:
    """A PATCH without resourceVersion is answered with 409 when the server's own retries are used up."""
    cluster.start()
    cluster.submit(job(task("worker", 2), minAvailable=1))
    await cluster.live(3)
    asked = asked_from_now_on(cluster)
    cluster.api.refuse("PATCH", "/podgroups", api_error("PATCH", GROUPS, 409, b'{"reason": "Conflict"}'))
    cluster.edit(tasks=[task("worker", 3)])
    await cluster.live(30)
    assert len(asked) < 20
    assert len(cluster.pods()) == 3


async def test_a_conflict_on_a_deletion_is_no_proof_that_the_pod_is_gone(cluster: JobCluster) -> None:
    """An admission webhook may refuse a deletion with any code."""
    cluster.start()
    cluster.submit(job(task("worker", 3), minAvailable=1))
    await cluster.live(3)
    path = f"{PODS}/train-worker-2"
    cluster.api.refuse("DELETE", path, api_error("DELETE", path, 409, b'{"reason": "Conflict"}'))
    cluster.edit(tasks=[task("worker", 2)])
    await cluster.live(30)
    assert sorted(cluster.pods()) == ["train-worker-0", "train-worker-1"]


async def test_a_job_in_a_dependency_cycle_sends_few_requests(cluster: JobCluster) -> None:
    """Whatever the reason: here, no event shows it its own pods."""
    cluster.options["learn"] = lambda kind, obj: None
    cluster.reports_of = lambda kind: kind != POD.name
    cluster.start()
    asked = asked_from_now_on(cluster)
    cluster.submit(job(task("worker", 1)))
    await cluster.live(2)
    assert len(asked) < LOOPS
