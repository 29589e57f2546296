"""A namespace with many Jobs, while others have Jobs too: each step is followed by a rest."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.support.jobs.job_cluster import job, task
from tests.support.virtual_time import LoopClock
from tests.unit.operator.conftest import FakeApi
from volcano_py.cluster.kubernetes.writing.rest import TIMES
from volcano_py.jobs.model import VolcanoJob
from volcano_py.operator.jobs.controller import JobController

LATENCY = 0.1


async def first_statuses(*names: str) -> dict[str, float]:
    """When the API server had the first status of each Job. Each namespace has one worker."""
    api, seen = FakeApi(), dict[str, float]()
    api.latency = LATENCY

    def note(_verb: str, path: str) -> None:
        for name in names:
            if path.endswith(f"/jobs/{name}/status"):
                seen.setdefault(name, asyncio.get_running_loop().time())

    api.on_request = note
    controller = JobController(api, active=lambda: True, record=lambda event: None, workers=1, clock=LoopClock())
    for name in names:
        namespace, manifest = name.partition("-")[0], job(task("worker", 1), name=name)
        manifest["metadata"]["namespace"] = namespace
        path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/{name}"
        controller.upsert("VolcanoJob", msgspec.convert(api.put(path, manifest), VolcanoJob))
    working = asyncio.create_task(controller.run())
    await asyncio.sleep(30)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    return seen


async def test_the_next_job_of_the_namespace_waits_some_times_as_long_as_the_step_took() -> None:
    began = await first_statuses("busy-1", "busy-2", "busy-3", "other-1")
    step = 2 * LATENCY * (1 + TIMES)
    assert began == pytest.approx({"busy-1": 0.1, "other-1": 0.1, "busy-2": 0.1 + step, "busy-3": 0.1 + 2 * step})


async def test_a_namespace_that_alone_has_jobs_does_not_rest() -> None:
    began = await first_statuses("busy-1", "busy-2", "busy-3")
    step = 2 * LATENCY
    assert began == pytest.approx({"busy-1": 0.1, "busy-2": 0.1 + step, "busy-3": 0.1 + 2 * step})
