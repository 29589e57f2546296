"""An explanation says that the extender has not taken part in it."""

from __future__ import annotations

from tests.unit.explain.causes import DEFAULT, world_of
from volcano_py.explain.of_workload import explain_workload

CLUSTER = """
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
kind: Pod
metadata: {name: web}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
"""
ASKING = f"{DEFAULT.rstrip()}\n- plugins: [{{name: extender, arguments: {{extender.predicateVerb: predicate}}}}]\n"


def test_where_one_is_configured() -> None:
    [hint] = explain_workload(world_of(CLUSTER, ASKING), "pod", "default/web").now.hints
    assert hint.startswith("plugin extender: it is asked only by the running scheduler")


def test_where_none_is() -> None:
    assert explain_workload(world_of(CLUSTER), "pod", "default/web").now.hints == ()
