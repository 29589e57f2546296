"""`--controllers=none`: the scheduler creates `root` and `default` itself, as Volcano's does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from volcano_py.api.objects import ObjectMeta, Queue
from volcano_py.operator.queues.initial import InitialQueues

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


def a_queue(name: str) -> Queue:
    return Queue(metadata=ObjectMeta(name=name, uid=f"uid-{name}"))


@asynccontextmanager
async def running(queues: InitialQueues) -> AsyncIterator[None]:
    task = asyncio.create_task(queues.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_they_are_created_and_passed_on(api: Any) -> None:
    found: list[str] = []

    def pass_on(queue: Queue) -> None:
        found.append(queue.metadata.name)
        queues.upsert("Queue", queue)

    queues = InitialQueues(api, active=lambda: True, default_queue="research", found=pass_on)
    async with running(queues):
        await queues.exist.wait()
    assert found == ["root", "research"]
    assert sorted(api.objects) == [f"{QUEUES}/research", f"{QUEUES}/root"]


async def test_those_that_exist_cost_no_request(api: Any) -> None:
    queues = InitialQueues(api, active=lambda: True)
    queues.replace("Queue", [a_queue("root"), a_queue("default")])
    async with running(queues):
        await asyncio.sleep(1)
    assert queues.exist.is_set()
    assert api.requests == []


async def test_one_that_is_deleted_is_created_again(api: Any) -> None:
    queues = InitialQueues(api, active=lambda: True)
    queues.replace("Queue", [a_queue("root"), a_queue("default")])
    async with running(queues):
        queues.delete("Queue", a_queue("default"))
        await asyncio.sleep(1)
        assert list(api.objects) == [f"{QUEUES}/default"]
        api.requests.clear()
        queues.replace("Queue", [a_queue("default")])
        await asyncio.sleep(1)
    assert api.requests == [f"POST {QUEUES}"]


async def test_without_the_lease_nothing_is_created_and_with_it_they_are(api: Any) -> None:
    leads = False
    queues = InitialQueues(api, active=lambda: leads)
    async with running(queues):
        await asyncio.sleep(1)
        assert api.requests == []
        leads = True
        queues.leadership_gained()
        await asyncio.sleep(1)
    assert sorted(api.objects) == [f"{QUEUES}/default", f"{QUEUES}/root"]
