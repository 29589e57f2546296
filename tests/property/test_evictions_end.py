"""Over generated clusters: evictions come to an end, are never in vain, and nobody evicts in turn."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from volcano_py.api.objects import Pod
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.scheduler import builtin_registry
from volcano_py.simulation import Simulation

_NAMES: Final = ("a", "b", "c", "d", "e", "f")
_PRIORITIES: Final = {"low": 1, "middle": 10, "high": 100}
_POLICIES: Final = {
    "priority": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}, {name: nodeorder}]
""",
    "gang first": """
actions: "enqueue, reclaim, preempt, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
""",
    "fairness alone": """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority, enablePreemptable: false}, {name: gang, enablePreemptable: false}]
- plugins: [{name: drf}, {name: predicates}, {name: binpack}]
""",
}


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few nodes, two queues and jobs that run, fill the nodes, or wait; each pod asks for one to three CPUs."""
    sizes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=3))
    free = {f"n{index}": cpus for index, cpus in enumerate(sizes)}
    objects: list[dict[str, Any]] = [
        {"kind": "PriorityClass", "metadata": {"name": name}, "value": value} for name, value in _PRIORITIES.items()
    ]
    objects += [_node(name, cpus) for name, cpus in free.items()]
    for queue in ("q1", "q2"):
        spec = {"weight": draw(st.integers(1, 3)), "reclaimable": draw(st.booleans())}
        objects.append({"kind": "Queue", "metadata": {"name": queue}, "spec": spec})
    for name in _NAMES[: draw(st.integers(2, len(_NAMES)))]:
        pods, cpus = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        job: dict[str, Any] = {
            "name": name,
            "queue": draw(st.sampled_from(("q1", "q2"))),
            "min": draw(st.integers(1, pods)),
            "priority": draw(st.sampled_from(sorted(_PRIORITIES))),
        }
        places: list[str] = []
        if draw(st.booleans()):
            for node in sorted(free):
                while free[node] >= cpus and len(places) < pods:
                    free[node] -= cpus
                    places.append(node)
            if len(places) < job["min"]:
                for node in places:
                    free[node] += cpus
                places = []
        objects += _job(job, pods, cpus, places)
    return objects


def _node(name: str, cpus: int) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": cpus, "pods": 110}}}


def _job(job: dict[str, Any], pods: int, cpus: int, places: list[str]) -> list[dict[str, Any]]:
    spec = {"minMember": job["min"], "queue": job["queue"], "priorityClassName": job["priority"]}
    group: dict[str, Any] = {
        "kind": "PodGroup",
        "metadata": {"name": job["name"], "namespace": "default"},
        "spec": spec,
    }
    if places:
        group["status"] = {"phase": "Running"}
    return [group, *(_pod(job, index, cpus, places[index] if index < len(places) else "") for index in range(pods))]


def _pod(job: dict[str, Any], index: int | str, cpus: int, node: str) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "kind": "Pod",
        "metadata": {
            "name": f"{job['name']}-{index}",
            "namespace": "default",
            "annotations": {"scheduling.k8s.io/group-name": job["name"]},
        },
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": job["priority"],
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpus}}}],
        },
    }
    if node:
        pod["spec"]["nodeName"] = node
        pod["status"] = {"phase": "Running"}
    return pod


def _simulation(objects: list[dict[str, Any]], policy: str) -> Simulation:
    registry = builtin_registry()
    parsed = parse_configuration(_POLICIES[policy], registry.catalogue())
    assert parsed.config is not None, parsed.problems
    documents = [Document("generated", number, body) for number, body in enumerate(objects)]
    return Simulation(stored(documents), parsed.config, registry)


def _come_again(simulation: Simulation, known: set[str], objects: list[dict[str, Any]], turn: int) -> int:
    """Every evicted pod is made anew by its controller, under a new name; how many were."""
    gone = [key for key in simulation.cluster.evictions if key not in known]
    known.update(gone)
    bodies = {f"default/{body['metadata']['name']}": body for body in objects if body["kind"] == "Pod"}
    for place, key in enumerate(gone):
        body = bodies[key]
        again = {**body, "metadata": {**body["metadata"], "name": f"{body['metadata']['name']}-{turn}{place}"}}
        again["spec"] = {name: value for name, value in body["spec"].items() if name != "nodeName"}
        again.pop("status", None)
        objects.append(again)
        for kind, obj in stored(
            [*(Document("p", 0, b) for b in objects if b["kind"] == "PriorityClass"), Document("again", 1, again)]
        ):
            if kind == "Pod":
                simulation.cluster.put(kind, obj)
    return len(gone)


@settings(max_examples=40, deadline=None)
@given(clusters(), st.sampled_from(sorted(_POLICIES)))
def test_evictions_end_though_every_victim_comes_again(objects: list[dict[str, Any]], policy: str) -> None:
    simulation = _simulation(objects, policy)
    known: set[str] = set()
    quiet = 0
    for turn in range(40):
        simulation.step()
        quiet = 0 if _come_again(simulation, known, objects, turn) else quiet + 1
        assert simulation.state.drift() == 0
        if quiet == 4:
            break
    assert quiet == 4, f"still evicting: {simulation.cluster.evictions[-8:]}"


@settings(max_examples=40, deadline=None)
@given(clusters(), st.sampled_from(sorted(_POLICIES)))
def test_whoever_was_made_room_for_is_bound_whole(objects: list[dict[str, Any]], policy: str) -> None:
    simulation = _simulation(objects, policy)
    simulation.run(cycles=1)
    promised = {
        pod.metadata.annotations["scheduling.k8s.io/group-name"]
        for pod in simulation.cluster.objects("Pod", Pod)
        if pod.status.nominated_node_name
    }
    assert bool(promised) == bool(simulation.cluster.evictions)
    for _ in range(3):
        simulation.step()
    minimum = {body["metadata"]["name"]: body["spec"]["minMember"] for body in objects if body["kind"] == "PodGroup"}
    bound = {
        name: sum(
            bool(pod.spec.node_name)
            for pod in simulation.cluster.objects("Pod", Pod)
            if pod.metadata.annotations["scheduling.k8s.io/group-name"] == name
        )
        for name in minimum
    }
    assert all(bound[name] >= minimum[name] for name in promised)
