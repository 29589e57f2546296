"""Pods that rescheduling moves: a replay decides the same, whenever a segment of the record begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.sessions import gang, node, queue
from tests.unit.daemon.cycling import REGISTRY
from tests.unit.record.recording import recorded
from volcano_py.api.effects import Evict
from volcano_py.api.objects import OwnerReference, Pod
from volcano_py.record.replay import replay
from volcano_py.record.segments import Limits, segments
from volcano_py.state.nodes.loads import Load

RESCHEDULING = """
actions: "enqueue, allocate, backfill, shuffle"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins:
  - name: predicates
  - name: usage
  - name: rescheduling
    arguments:
      interval: 1m
      maxVictims: 2
      strategies: [{name: lowNodeUtilization, params: {thresholds: {cpu: 20}, targetThresholds: {cpu: 60}}}]
"""
EACH_CYCLE = Limits(size=10**9, segments=10**9)
"""A segment ends with each cycle, and plugins forget what they remembered."""
OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="web", controller=True)


@pytest.mark.parametrize("limits", [Limits(), EACH_CYCLE])
async def test_the_same_pods_are_moved_at_the_same_time(tmp_path: Path, limits: Limits) -> None:
    async with recorded(tmp_path, RESCHEDULING, limits) as (bench, _):
        bench.put(queue("default"), node("a", cpu="10"), node("b", cpu="10"))
        for each in gang("web", pods=6, min_member=1, cpu="1", running_on=["b"] * 6):
            if isinstance(each, Pod):
                each = replace(each, metadata=replace(each.metadata, owner_references=[OWNER]))  # noqa: PLW2901
            bench.put(each)
        for step in range(40):
            bench.state.measured({"a": Load(0.1, 0.1, bench.now), "b": Load(0.8 + step / 1000, 0.1, bench.now)})
            await bench.after(10)
        evicted = [effect.pod.name for effect in bench.sent if isinstance(effect, Evict)]
    assert sorted(evicted)[-1] == "web-5"
    assert len(evicted) >= 2
    assert (len([*segments(tmp_path)]) > 1) is (limits is EACH_CYCLE)
    cycles = [*replay(segments(tmp_path), REGISTRY)]
    assert [cycle.difference for cycle in cycles if cycle.difference] == []
    assert sum(cycle.report.evictions for cycle in cycles) == len(evicted)
