"""In clusters at random: what is promised to PodGroups without pods, and to pods that fit nowhere, keeps no job out for
ever that could run alone within what its queue may have."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.registries import checked_registry
from volcano_py.api.objects import PodGroup
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

Object = dict[str, Any]

TIMEOUT = 3
NODE = 8
"""Cpu of each node."""
_CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}]
- plugins: [{{name: overcommit}}, {{name: drf}}, {{name: predicates}}, {{name: {owner}}}]
configurations:
- name: enqueue
  arguments: {{promiseTimeout: {timeout}s}}
"""
_REGISTRY = checked_registry()

queues = st.sampled_from(["q0", "q1"])
namespaces = st.sampled_from(["a", "b"])
sizes = st.integers(1, 40)


@st.composite
def idle(draw: st.DrawFn) -> Object:
    """A PodGroup without pods, or with pods that fit no node; made in some second."""
    return {
        "queue": draw(queues),
        "namespace": draw(namespaces),
        "cpu": draw(sizes),
        "pods": draw(st.sampled_from([0, 0, 1, 3])),
        "by": draw(st.sampled_from(["selector", "size"])),
        "at": draw(st.integers(0, 5)),
        "class": draw(st.sampled_from(["", "high"])),
        "phase": draw(st.sampled_from(["", "", "Inqueue", "Running"])),
    }


def _group(name: str, made: Object, minimum: int = 1) -> Object:
    spec = {"queue": made["queue"], "minMember": minimum, "minResources": {"cpu": str(made["cpu"])}}
    if made.get("class"):
        spec["priorityClassName"] = made["class"]
    metadata = {"name": name, "namespace": made["namespace"]}
    return {"kind": "PodGroup", "metadata": metadata, "spec": spec, "status": {"phase": made.get("phase", "")}}


def _pods(name: str, made: Object) -> list[Object]:
    too_large = made["by"] == "size"
    cpu = NODE + 1 if too_large else max(made["cpu"] // made["pods"], 1) if made["pods"] else 0
    spec: Object = {
        "schedulerName": "volcano",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}],
    }
    if not too_large:
        spec["nodeSelector"] = {"pool": "none"}
    annotations = {"scheduling.k8s.io/group-name": name}
    return [
        {
            "kind": "Pod",
            "metadata": {"name": f"{name}-{index}", "namespace": made["namespace"], "annotations": annotations},
            "spec": spec,
        }
        for index in range(made["pods"])
    ]


def _cluster(nodes: int, owner: str) -> Simulation:
    parsed = parse_configuration(_CONFIGURATION.format(owner=owner, timeout=TIMEOUT), _REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    bodies: list[Object] = [
        {"kind": "Node", "metadata": {"name": f"n{index}"}, "status": {"allocatable": {"cpu": NODE, "pods": 110}}}
        for index in range(nodes)
    ]
    bodies += [{"kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1}} for name in ("q0", "q1")]
    bodies.append({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100})
    return Simulation(_stored(bodies), parsed.config, _REGISTRY)


def _stored(bodies: list[Object]) -> Any:
    return stored([Document("test.yaml", number, body) for number, body in enumerate(bodies)])


@settings(deadline=None, max_examples=60)
@given(
    nodes=st.integers(2, 4),
    owner=st.sampled_from(["proportion", "capacity"]),
    made=st.lists(idle(), max_size=8),
    asks=st.fixed_dictionaries(
        {"queue": queues, "namespace": namespaces, "pods": st.integers(1, 4), "at": st.integers(0, 5)}
    ),
)
def test_a_job_that_could_run_alone_runs(nodes: int, owner: str, made: list[Object], asks: Object) -> None:
    cluster = _cluster(nodes, owner)
    # proportion divides the cluster by what pods ask for, whether they fit or not: half of it is the queue's own.
    pods = min(asks["pods"], nodes // 2 if owner == "proportion" else nodes)
    container = {"name": "main", "resources": {"requests": {"cpu": str(NODE)}}}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "job", "uid": "job", "namespace": asks["namespace"]},
        "spec": {
            "queue": asks["queue"],
            "tasks": [{"name": "t", "replicas": pods, "template": {"spec": {"containers": [container]}}}],
        },
    }
    # Each of the others may have its turn first: as large as they are, they come one after the other.
    for second in range(6 + (len(made) + 2) * TIMEOUT):
        bodies = [job] if second == asks["at"] else []
        for index, each in enumerate(made):
            if each["at"] == second:
                bodies += [_group(f"idle-{index}", each), *_pods(f"idle-{index}", each)]
        for kind, obj in _stored(bodies):
            cluster.cluster.put(kind, obj)
        cluster.step()
    group = cluster.cluster.get("PodGroup", f"{asks['namespace']}/job-job", PodGroup)
    assert group is not None
    assert group.status.phase == "Running", group.status.conditions
