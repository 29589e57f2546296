"""The API server is busy when a pod is bound for which others were evicted: its place is kept until the next try."""

from __future__ import annotations

import pytest

from tests.support.registries import checked_registry
from volcano_py.api.effects import Bind
from volcano_py.api.objects import Pod
from volcano_py.cluster.manifests import read_text, stored
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

PAUSE = 2.0
"""Seconds until a binding is tried again: cycles in between take a second each."""

CLUSTER = """
{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, memory: 1Gi, pods: 110}}}
---
{kind: PriorityClass, metadata: {name: urgent}, value: 1000}
---
{kind: PodGroup, metadata: {name: low}, spec: {minMember: 1}, status: {phase: Running}}
---
{kind: PodGroup, metadata: {name: hot}, spec: {minMember: 1, priorityClassName: urgent}}
"""
POD = """
---
kind: Pod
metadata: {{name: {name}, annotations: {{scheduling.k8s.io/group-name: {group}}}}}
spec:
  schedulerName: volcano
  nodeName: "{node}"
  priorityClassName: "{priority}"
  containers: [{{name: main, resources: {{requests: {{cpu: {cpu}}}}}}}]
status: {{phase: {phase}}}
"""
PODS = [
    *((f"low-{number}", "low", "n1", "", 1, "Running") for number in (0, 1)),
    *((f"low-{number}", "low", "", "", 1, "Pending") for number in (2, 3, 4)),
    ("hot-0", "hot", "", "urgent", 2, "Pending"),
]
CONFIGURATION = """
actions: "{actions}"
tiers:
- plugins:
  - {{name: priority}}
  - {{name: gang, enablePreemptable: false}}
  - {{name: predicates}}
"""


@pytest.mark.parametrize("actions", ["enqueue, allocate, backfill, preempt", "enqueue, preempt, allocate, backfill"])
def test_its_place_is_kept_however_often_its_binding_fails(actions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ("name", "group", "node", "priority", "cpu", "phase")
    pods = (POD.format(**dict(zip(keys, pod, strict=True))) for pod in PODS)
    registry = checked_registry()
    configuration = parse_configuration(CONFIGURATION.format(actions=actions), registry.catalogue()).config
    assert configuration is not None
    simulation = Simulation(stored(read_text(CLUSTER + "".join(pods), "cluster.yaml")), configuration, registry)
    bind, failures = MemoryCluster._bind, 3

    def binds_at_last(cluster: MemoryCluster, effect: Bind) -> None:
        nonlocal failures
        if effect.pod.key == "default/hot-0" and failures:
            failures -= 1
            assert simulation.state.assume_bound(effect.pod.uid, effect.node)
            simulation.state.bind_failed(effect.pod.uid, retry_at=simulation.now + PAUSE)
        else:
            bind(cluster, effect)

    monkeypatch.setattr(MemoryCluster, "_bind", binds_at_last)
    for _ in range(12):
        simulation.step()
    hot = simulation.cluster.get("Pod", "default/hot-0", Pod)
    assert hot is not None
    assert (hot.spec.node_name, failures) == ("n1", 0)
    assert sorted(simulation.cluster.evictions) == ["default/low-0", "default/low-1"]
    assert simulation.state.drift() == 0
