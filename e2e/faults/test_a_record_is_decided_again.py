"""A record of a cluster that never rests, on a real API server, with faults: every cycle decides the same again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.churning.churn import NODE_CPUS, Churn
from e2e.faults.churning.keeper import in_background
from e2e.faults.conftest import Scale
from e2e.faults.injection.plans import Calm, Seeded
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.namespace import Namespace
from e2e.harness.objects import queue
from volcano_py.api.names import DEFAULT_QUEUE
from volcano_py.record.evictions import of_evictions
from volcano_py.record.history import of_queue
from volcano_py.record.replay import replay
from volcano_py.record.segments import segments
from volcano_py.scheduler import builtin_registry

CHURN_SECONDS: Final = 40.0
NODES: Final = 6
CONFIGURATIONS: Final = {
    "drf of a tree, and capacity": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf, enableHierarchy: true}, {name: predicates}, {name: capacity}, {name: nodeorder}]
""",
    "capacity of a tree, and drf": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: capacity, enableHierarchy: true}, {name: nodeorder}]
""",
}
"""Both fairness plugins in each; the tree of queues can have one owner. drf conflicts with proportion in the first."""


def tree(namespace: str) -> list[dict[str, Any]]:
    """Queues as both plugins read them: team, with red and green below, and blue alongside; they deserve all cpus."""

    def placed(colour: str, path: str, weights: str, cpus: int, **spec: Any) -> dict[str, Any]:
        made = queue(f"{namespace}-{colour}", weight=cpus, deserved={"cpu": str(cpus)}, **spec)
        made["metadata"]["annotations"] = {
            "volcano.sh/hierarchy": f"root/{path}",
            "volcano.sh/hierarchy-weights": f"1/{weights}",
        }
        return made

    below = {"parent": f"{namespace}-team"}
    return [
        placed("team", "team", "3", 24),
        placed("red", "team/red", "3/1", 8, **below),
        placed("green", "team/green", "3/2", 16, **below),
        placed("blue", "blue", "3", 24),
    ]


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.timeout(3600)
async def test_a_record_of_churn_and_faults_replays_without_a_difference(
    name: str,
    scale: Scale,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    configure: Callable[[str], Awaitable[None]],
    proxy: FaultProxy,
    start_daemon: StartDaemon,
    tmp_path: Path,
    report: Callable[[str], None],
) -> None:
    await configure(CONFIGURATIONS[name])
    pool = await simulated_nodes(NODES, cpu=str(NODE_CPUS))
    queues = tree(namespace.name)
    await create_queues(*queues)
    record = tmp_path / "record"
    seconds = scale.soak_seconds if scale.soak else CHURN_SECONDS
    # (without a Lease that it could lose; a segment lasts for a quarter of the churn)
    options = (f"--record={record}", f"--record-age={2 * seconds:.0f}s", "--resync-period=15s", "--leader-elect=false")
    daemon = await start_daemon(*options, server=proxy.url)
    leaves = tuple(each["metadata"]["name"] for each in queues[1:])
    churn = Churn(namespace, pool, leaves, scale.seed)
    async with AsyncExitStack() as stack:
        churning = await in_background(stack, churn.run())
        proxy.plan = Seeded(scale.seed)
        await asyncio.sleep(seconds)
        proxy.plan = Calm()
        assert await daemon.metric("volcano_record_stopped") == 0
        status = await daemon.document("/status")
        await daemon.stop()  # in the middle of all that
        churn.stop()
        await churning
    assert status["record"]["recording"]

    cycles = [*replay(segments(record), builtin_registry())]
    size = sum(path.stat().st_size for path in segments(record))
    binds = sum(cycle.report.binds for cycle in cycles)
    evictions = sum(cycle.report.evictions for cycle in cycles)
    report(
        f"{name}: {len(cycles)} cycles, {binds} bindings, {evictions} evictions, {proxy.faults} faults, {size} bytes"
    )
    assert [(cycle.number, cycle.difference) for cycle in cycles if cycle.difference] == []
    _may_be_cut(segments(record), report)
    assert len(cycles) > 20
    assert cycles[-1].number >= status["lastCycle"]["number"]
    assert "the end of the record is not written" not in {each.get("msg") for each in daemon.log_records()}
    assert binds > 20
    assert proxy.faults > 20
    listed = of_evictions(segments(record))
    assert len(listed) == evictions
    assert all(each.queue in (*leaves, DEFAULT_QUEUE) and each.why for each in listed)
    assert any(each.outcome == "evicted" for each in listed) == bool(listed)
    held = [each.figures.allocated.get("cpu", 0) for leaf in leaves for each in of_queue(segments(record), leaf)]
    assert max(held) > 1000


def _may_be_cut(paths: Sequence[Path], report: Callable[[str], None]) -> None:
    """Without the oldest segments, the others decide the same."""
    assert len(paths) > 2
    decided = 0
    for first in range(1, len(paths)):
        cycles = [*replay(paths[first:], builtin_registry())]
        assert [(first, cycle.number, cycle.difference) for cycle in cycles if cycle.difference] == []
        decided += len(cycles)
    report(f"cut at each of {len(paths) - 1} rotations: {decided} cycles")
