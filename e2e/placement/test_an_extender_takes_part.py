"""A server of the user's on a real cluster: it refuses nodes, moves pods, holds jobs back, dies and comes back."""

from __future__ import annotations

import gzip
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod_group
from e2e.placement.extender import Extender
from volcano_py.record.replay import replay
from volcano_py.record.segments import segments
from volcano_py.scheduler import builtin_registry

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins:
  - name: predicates
  - name: nodeorder
  - name: extender
    arguments:
      extender.urlPrefix: ADDRESS
      extender.httpTimeout: 500ms
      extender.ignorable: IGNORABLE
      VERB: asked
"""
Configure = Callable[[str], Awaitable[None]]


def configuration(extender: Extender, verb: str, *, ignorable: bool = False) -> str:
    text = CONFIGURATION.replace("ADDRESS", extender.address).replace("VERB", f"extender.{verb}Verb")
    return text.replace("IGNORABLE", str(ignorable).lower())


def agrees(_body: dict[str, Any]) -> dict[str, Any]:
    return {"status": "", "code": 0}


async def test_pods_go_where_the_extender_lets_them_go_even_if_nothing_else_changes(
    namespace: Namespace, simulated_nodes: SimulatedNodes, extender: Extender, configure: Configure, daemon: Daemon
) -> None:
    pool = await simulated_nodes(2, cpu="4")
    first, second = pool.names
    allowed: set[str] = set()

    def judge(body: dict[str, Any]) -> dict[str, Any]:
        return agrees(body) if body["node"]["Name"] in allowed else {"status": "no licence", "code": 2}

    extender.answers["asked"] = judge
    await configure(configuration(extender, "predicate"))
    await namespace.apply(gang("train", 2, cpu="1", node_selector=pool.selector))
    await namespace.wait_reported("train-0", saying="node(s) were refused by the extender: no licence")
    _, body = extender.asked[-1]
    assert body["task"]["Job"] == f"{namespace.name}/train"
    assert body["task"]["Resreq"]["MilliCPU"] == 1000
    assert body["node"]["Allocatable"]["MilliCPU"] == 4000

    async def sent_whole() -> None:
        (container,) = extender.asked[-1][1]["task"]["Pod"]["spec"]["containers"]
        assert container["resources"]["requests"]["cpu"] == "1"

    # The configuration came while the daemon was running.
    await daemon.eventually("pods are sent with their containers", sent_whole)

    allowed.add(second)

    pods = await namespace.wait_phases(Running=2)
    assert {each.node for each in pods} == {second}
    assert first in {body["node"]["Name"] for _, body in extender.asked}
    await daemon.wait_metric(
        "volcano_extender_request_seconds_count", 1, or_more=True, verb="asked", outcome="answered"
    )


@pytest.mark.usefixtures("daemon")
async def test_scores_of_the_extender_move_pods(
    namespace: Namespace, simulated_nodes: SimulatedNodes, extender: Extender, configure: Configure
) -> None:
    pool = await simulated_nodes(3, cpu="4")
    wanted = pool.names[1]
    extender.answers["asked"] = lambda _body: {"nodeScore": {wanted: 1e6}, "errorMessage": ""}
    await configure(configuration(extender, "prioritize"))
    await namespace.apply(gang("train", 3, cpu="1", node_selector=pool.selector))
    pods = await namespace.wait_phases(Running=3)
    assert {each.node for each in pods} == {wanted}


@pytest.mark.usefixtures("daemon")
async def test_a_job_is_held_back_until_the_extender_admits_it(
    namespace: Namespace, simulated_nodes: SimulatedNodes, extender: Extender, configure: Configure
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    extender.answers["asked"] = lambda _body: {"status": -1}
    await configure(configuration(extender, "jobEnqueueable"))
    group = pod_group("train", 1)
    group["spec"]["minResources"] = {"cpu": "1"}
    (_, *pods) = gang("train", 1, cpu="1", node_selector=pool.selector)
    await namespace.apply(group, *pods)
    await namespace.wait_reported("train-0", saying="the extender does not admit it")
    extender.answers["asked"] = lambda _body: {"status": 1}
    await namespace.wait_phases(Running=1)


async def test_while_the_server_is_dead_pods_wait_or_not_and_others_are_placed_after_it_is_gone(
    namespace: Namespace, simulated_nodes: SimulatedNodes, extender: Extender, configure: Configure, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="8")
    extender.answers["asked"] = agrees
    await configure(configuration(extender, "predicate", ignorable=True))
    await extender.stop()
    await namespace.apply(gang("ignoring", 2, cpu="1", node_selector=pool.selector))
    await namespace.wait_phases(Running=2)

    await configure(configuration(extender, "predicate"))
    await namespace.apply(gang("train", 2, cpu="1", node_selector=pool.selector))
    reported = await namespace.wait_reported("train-0", saying="node(s) were not judged: the extender")
    assert extender.address.partition("://")[2] not in str(reported)
    only_gpus = configuration(extender, "predicate").replace(
        "extender.ignorable", "extender.managedResources: [example.com/gpu]\n      extender.ignorable"
    )
    await configure(only_gpus)
    await namespace.wait_phases(Running=4)

    await configure(configuration(extender, "predicate"))
    await namespace.apply(gang("late", 1, cpu="1", node_selector=pool.selector))
    await namespace.wait_reported("late-0", saying="node(s) were not judged: the extender")
    await extender.start()
    await namespace.wait_phases(Running=5)
    assert not any(extender.address in str(record) for record in daemon.log_records())


async def test_a_record_of_a_daemon_that_asks_is_decided_again_without_the_server(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    extender: Extender,
    configure: Configure,
    start_daemon: StartDaemon,
    tmp_path: Path,
) -> None:
    pool = await simulated_nodes(4, cpu="4")
    chance = random.Random(7)

    def judge(_body: dict[str, Any]) -> dict[str, Any]:
        number = chance.random()
        return {"status": f"busy for {number} s" if number < 0.5 else "", "code": 2}

    extender.answers["asked"] = judge
    await configure(configuration(extender, "predicate"))
    record = tmp_path / "record"
    daemon = await start_daemon(f"--record={record}")
    for number in range(4):
        await namespace.apply(gang(f"train-{number}", 3, cpu="1", node_selector=pool.selector))
    await namespace.wait_phases(Running=12)
    await extender.stop()
    await namespace.apply(gang("late", 1, cpu="1", node_selector=pool.selector))
    await namespace.wait_reported("late-0", saying="node(s) were not judged: the extender")
    await daemon.stop()

    cycles = [*replay(segments(record), builtin_registry())]
    assert [(cycle.number, cycle.difference) for cycle in cycles if cycle.difference] == []
    assert sum(cycle.report.binds for cycle in cycles) >= 12
    assert sum(cycle.unanswered for cycle in cycles) == 0
    lines = b"".join(gzip.decompress(path.read_bytes()) for path in segments(record))
    assert b'"entry":"Answered"' in lines
