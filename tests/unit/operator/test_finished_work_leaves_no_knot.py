"""What controllers are done with is freed at once: a knot of references waits for the garbage collector, and an error
in one keeps connections and whole answers of the server meanwhile."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Iterable, Iterator
from types import CoroutineType, FrameType, FunctionType
from typing import Any

import msgspec
import pytest

from tests.support.jobs.maker_cluster import JOBS, MakerCluster
from tests.support.measuring.garbage import garbage_kept
from tests.unit.operator.jobs.test_job_flow_controller import controller as flow_controller
from tests.unit.operator.jobs.test_job_flow_controller import steps, submit
from tests.unit.operator.podgroups.test_pod_group_controller import GROUP_NAME, PODS, Cluster
from volcano_py.api.effects import Event
from volcano_py.cluster.kubernetes.http.errors import ApiError, api_error
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.operator.run_all import run_all

OURS = "volcano_py"


@pytest.fixture(autouse=True)
def only_when_asked() -> Iterator[None]:
    with garbage_kept():
        yield


def knots() -> list[str]:
    """What of ours the garbage collector finds; what the event loop itself leaves is not our doing."""
    gc.collect()
    return [name for name in map(where, gc.garbage) if name.startswith(OURS)]


def where(found: object) -> str:
    """The module that it belongs to, and what it is."""
    if isinstance(found, FrameType):
        return f"{found.f_globals.get('__name__')}: frame of {found.f_code.co_name}"
    if isinstance(found, FunctionType | CoroutineType):
        return f"{getattr(found, '__module__', '')}: {found.__qualname__}"
    return f"{type(found).__module__}: {type(found).__name__}"


def test_knots_are_found() -> None:
    error = api_error("PATCH", PODS, 500, b"")
    error.args = (error,)
    del error
    assert knots() == ["volcano_py.cluster.kubernetes.http.errors: ServerError"]


async def step(status: int = 200) -> None:
    await asyncio.sleep(0)
    if status >= 500:
        raise api_error("POST", PODS, status, b"")


@pytest.mark.parametrize("failures", [1, 2])
async def test_steps_of_which_some_fail(failures: int) -> None:
    done: list[str] = []

    async def last() -> None:
        await asyncio.sleep(1)
        done.append("last")

    assert "500" in await failure([step(), *(step(500 + index) for index in range(failures)), last()])
    assert done == ["last"]
    await asyncio.sleep(0)  # until then the loop has what woke us
    assert knots() == []


async def failure(steps: Iterable[Awaitable[None]]) -> str:
    try:
        await run_all(steps)
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("conflicts", [1, 3, 4])
async def test_a_pod_that_changes_while_its_group_is_written_on_it(
    api: Any, events: list[Event], conflicts: int
) -> None:
    cluster = Cluster(api, events)
    api.refuse("PATCH", "pods", *(api_error("PATCH", PODS, 409, b'{"reason": "Conflict"}') for _ in range(conflicts)))
    cluster.pod("solo")
    await cluster.settle()
    assert cluster.named("solo") == "podgroup-uid-solo"
    assert api.objects[f"{PODS}/solo"]["metadata"]["annotations"].keys() == {GROUP_NAME}
    assert knots() == []


async def test_jobs_of_a_flow_that_are_refused(api: Any) -> None:
    cluster = MakerCluster(api, flow_controller)
    api.refuse("POST", JOBS, *(api_error("POST", JOBS, status, b"") for status in (500, 503, 500)))
    cluster.start()
    submit(cluster, steps("a", "b"))
    await cluster.live(30)
    assert cluster.jobs().keys() == {"f-a", "f-b"}
    assert [knot for knot in knots() if "errors" in knot] == []
    await cluster.stop()


def test_the_plugins_of_a_job() -> None:
    job = msgspec.convert({"metadata": {}, "spec": {"plugins": {"pytorch": ["--port=1234"], "env": []}}}, VolcanoJob)
    plugins = JobPlugins.of(BUILTIN)
    assert [plugin.name for plugin in plugins.for_job(job)] == ["svc", "pytorch", "env"]
    assert knots() == []
