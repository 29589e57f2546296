"""How soon the page shows a change: `python -m benchmarks.page [QUEUES JOBS NODES]`.

The page is served, and a browser's stream followed, in this process. By default there
are 1,000 queues, 10,000 jobs and 2,000 nodes, with the statuses that the scheduler has written. A pod ends; the time is
from the arrival of the object to the bytes of the event that names its job. `alone`: one every two seconds; `busy`: 20
a second, while the scheduler works out again what it would say. The API server and the network are not in it.

`first view`: from the request of a browser to the list of jobs in its window, where the distribution's Chromium and
Playwright are installed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from http.cookies import Morsel
from typing import Final

import aiohttp
import msgspec
from msgspec.structs import replace

from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import (
    ApiObject,
    Container,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PodSpec,
    PodStatus,
    Queue,
    QueueSpec,
    ResourceRequirements,
)
from volcano_py.cli.processes.serving import SWITCH_INTERVAL
from volcano_py.cluster.manifests import EPOCH
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.observe.listen import ListenAddress
from volcano_py.scheduler import Scheduler, builtin_registry
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.serving import serving

CHANGES: Final = 60
"""Of each kind."""
VIEWS: Final = 5
CHROMIUM: Final = "chromium"


def objects(queues: int, jobs: int, nodes: int) -> Iterator[tuple[str, ApiObject]]:
    """Half of the jobs run, a pod each; the others wait."""
    for number in range(nodes):
        allocatable: dict[str, str | int | float] = {"cpu": "8", "memory": "64Gi", "pods": "110"}
        yield "Node", Node(metadata=_meta(f"n{number}"), status=NodeStatus(allocatable=allocatable))
    for number in range(queues):
        yield "Queue", Queue(metadata=_meta(f"q{number}"), spec=QueueSpec(weight=1))
    for number in range(jobs):
        name, runs = f"j{number}", number % 2 == 0
        yield (
            "PodGroup",
            PodGroup(
                metadata=_meta(name, f"team-{number % 100}"),
                spec=PodGroupSpec(min_member=1, queue=f"q{number % queues}"),
                status=PodGroupStatus(phase="Running" if runs else "Pending"),
            ),
        )
        spec = PodSpec(
            scheduler_name="volcano",
            node_name=f"n{number % nodes}" if runs else "",
            containers=[Container(resources=ResourceRequirements(requests={"cpu": "1" if runs else "16"}))],
        )
        yield (
            "Pod",
            Pod(
                metadata=_meta(f"{name}-0", f"team-{number % 100}", {GROUP_NAME: name}),
                spec=spec,
                status=PodStatus(phase="Running" if runs else "Pending"),
            ),
        )


def _meta(name: str, namespace: str = "", annotations: dict[str, str] | None = None) -> ObjectMeta:
    return ObjectMeta(
        name=name, namespace=namespace, uid=f"uid-{name}", annotations=annotations or {}, creation_timestamp=EPOCH
    )


async def _measure(queues: int, jobs: int, nodes: int) -> None:
    cluster = Cluster(
        "a benchmark", builtin_registry(), scheduler_names=frozenset({"volcano"}), default_queue="default"
    )
    shown = MemoryCluster(cluster)
    for kind, each in objects(queues, jobs, nodes):
        shown.put(kind, each)
    seen_before = cluster.seen()
    Scheduler(cluster.registry, shown.apply).run_cycle(seen_before.snapshot, seen_before.configuration)
    started = time.perf_counter()
    async with serving(cluster, ListenAddress("127.0.0.1", 0)) as url, aiohttp.ClientSession() as session:
        sys.stdout.write(f"first board after {time.perf_counter() - started:.2f} s\n")
        jar = {cookie.key: cookie.value for cookie in await _cookies(session, url)}
        origin = url.partition("/?")[0]
        async with session.get(f"{origin}/api/board", cookies=jar) as answer:
            number = (await answer.json())["number"]
        await _first_views(url)
        pods = [each for each in shown.objects("Pod", Pod) if each.spec.node_name]
        async with session.get(f"{origin}/api/updates?after={number}", cookies=jar) as stream:
            seen: dict[str, float] = {}
            reading = asyncio.create_task(_read(stream, seen))
            for name, pause in (("alone", 2.0), ("busy", 0.05)):
                chosen, pods = pods[:CHANGES], pods[CHANGES:]
                await _report(name, cluster, chosen, pause, seen)
            reading.cancel()


async def _first_views(url: str) -> None:
    """Each in a browser without a cache."""
    program = shutil.which(CHROMIUM)
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        program = None
    if program is None:
        sys.stdout.write("first view: not measured, there is no Chromium, or no Playwright\n")
        return
    times = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        for _ in range(VIEWS):
            context = await browser.new_context()
            page = await context.new_page()
            began = time.perf_counter()
            await page.goto(f"{url}#/jobs")
            await page.locator("tbody tr:not(.spacer)").first.wait_for()
            times.append(time.perf_counter() - began)
            await context.close()
        await browser.close()
    sys.stdout.write(f"first view: median {statistics.median(times):.2f} s, maximum {max(times):.2f} s\n")


async def _cookies(session: aiohttp.ClientSession, url: str) -> list[Morsel[str]]:
    async with session.get(url, allow_redirects=False) as answer:
        return list(answer.cookies.values())


async def _report(name: str, cluster: Cluster, pods: list[Pod], pause: float, seen: dict[str, float]) -> None:
    await asyncio.sleep(10)
    began: dict[str, float] = {}
    for pod in pods:
        key = f"{pod.metadata.namespace}/{pod.metadata.name.removesuffix('-0')}"
        seen.pop(key, None)
        began[key] = time.perf_counter()
        cluster.upsert("Pod", replace(pod, status=PodStatus(phase="Succeeded")))
        await asyncio.sleep(pause)
    await asyncio.sleep(10)
    times = sorted(seen[key] - at for key, at in began.items())
    middle, late = statistics.median(times), times[int(0.95 * len(times))]
    sys.stdout.write(f"{name}: median {1000 * middle:.0f} ms, 95th percentile {1000 * late:.0f} ms\n")
    sys.stdout.flush()


async def _read(stream: aiohttp.ClientResponse, seen: dict[str, float]) -> None:
    """Notes when each job was named first since it was forgotten."""

    buffer = b""
    while True:
        buffer += await stream.content.readany()
        now = time.perf_counter()
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            data = event.partition(b"data: ")[2]
            if data:
                for key in msgspec.json.decode(data).get("jobs", {}).get("set", {}):
                    seen.setdefault(key, now)


if __name__ == "__main__":
    collect_seldom()
    sys.setswitchinterval(SWITCH_INTERVAL)
    sizes = [int(text) for text in sys.argv[1:]] or [1000, 10_000, 2000]
    asyncio.run(_measure(*sizes))
