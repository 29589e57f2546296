"""Over generated clusters: evictions come to an end, are never useless, and never go back and forth.

`EVICTION_EXAMPLES` is the number of clusters for each test.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.registries import checked_registry
from volcano_py.api.names import GROUP_NAME, PREEMPTABLE, REVOCABLE_ZONE
from volcano_py.api.objects import Pod
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

_NAMES: Final = ("a", "b", "c", "d", "e", "f")
_PRIORITIES: Final = {"low": 1, "middle": 10, "high": 100}
POLICIES: Final = {
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
    "capacity": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: capacity}, {name: predicates}, {name: nodeorder}]
""",
    "capacity in a tree": """
actions: "enqueue, reclaim, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: capacity, enableHierarchy: true}, {name: predicates}]
""",
    "hdrf": """
actions: "enqueue, allocate, preempt, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}]
- plugins: [{name: drf, enableHierarchy: true, enablePreemptable: false}, {name: predicates}, {name: nodeorder}]
""",
    "namespaces": """
actions: "enqueue, allocate, preempt, reclaim"
tiers:
- plugins: [{name: priority, enablePreemptable: false}, {name: gang}]
- plugins: [{name: drf, enableNamespaceOrder: true}, {name: proportion}, {name: predicates}]
""",
    "protectors": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: pdb}, {name: cdp}]
- plugins: [{name: drf}, {name: proportion, enableHierarchy: true}, {name: predicates}, {name: nodeorder}]
""",
    "hours": """
actions: "enqueue, allocate, preempt, reclaim, backfill, shuffle"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: pdb}]
- plugins:
  - name: tdm
    arguments: {tdm.revocable-zone.open: "00:00-23:59", tdm.revocable-zone.closed: "00:00-00:01", tdm.timezone: UTC}
- plugins: [{name: capacity}, {name: predicates}, {name: nodeorder}]
""",
    "whole jobs": """
actions: "enqueue, allocate, gangreclaim, gangpreempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: pdb}, {name: cdp}]
- plugins: [{name: drf, enablePreemptable: false}, {name: capacity, enableHierarchy: true}, {name: predicates}]
""",
}
_MARKS: Final[dict[str, dict[str, str]]] = {
    "nothing": {},
    "for a while": {"volcano.sh/cooldown-time": "2s"},
    "never": {PREEMPTABLE: "false"},
    "after hours": {PREEMPTABLE: "true", REVOCABLE_ZONE: "*"},
}
"""What the pods of a job may be annotated with: when they may be evicted."""
_QUEUES: Final = {"q1": "org/one", "q2": "org/two", "q3": "other"}
"""Name → where the queue stands in a tree; the first two are siblings."""


_EXAMPLES: Final = int(os.environ.get("EVICTION_EXAMPLES", max(25, settings().max_examples - 5)))


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few nodes, three queues and jobs that run, fill the nodes, or wait; each pod asks for one to three CPUs.

    The queues say everything that any policy respects: weights, amounts, a parent, a path.
    """
    sizes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=3))
    free = {f"n{index}": cpus for index, cpus in enumerate(sizes)}
    objects: list[dict[str, Any]] = [
        {"kind": "PriorityClass", "metadata": {"name": name}, "value": value} for name, value in _PRIORITIES.items()
    ]
    objects += [a_node(name, cpus) for name, cpus in free.items()]
    objects.append({"kind": "Queue", "metadata": {"name": "org"}, "spec": {"deserved": {"cpu": draw(_amounts)}}})
    objects += [draw(_queues(name, path)) for name, path in _QUEUES.items()]
    names = _NAMES[: draw(st.integers(2, len(_NAMES)))]
    for number, name in enumerate(names):
        # The first half are there already, and modest ones of few queues, so that there is something to take back.
        is_first = number < (len(names) + 1) // 2
        pods, cpus = draw(st.integers(2, 6) if is_first else st.integers(1, 4)), draw(st.integers(1, 2))
        job: dict[str, Any] = {
            "name": name,
            "namespace": draw(st.sampled_from(("ns1", "ns2"))),
            "queue": draw(st.sampled_from(("q1", "q3") if is_first else sorted(_QUEUES))),
            "min": draw(st.sampled_from((1, 1, pods)) if is_first else st.integers(1, pods)),
            "priority": draw(st.sampled_from(("low", "middle") if is_first else sorted(_PRIORITIES))),
        }
        places: list[str] = []
        if is_first or draw(st.integers(0, 3)) == 0:
            for node in sorted(free):
                while free[node] >= cpus and len(places) < pods:
                    free[node] -= cpus
                    places.append(node)
            if len(places) < job["min"] and not draw(st.booleans()):  # sometimes what is left of a gang blocks others
                for node in places:
                    free[node] += cpus
                places = []
        objects += a_job(job, pods, cpus, places)
    return objects


@st.composite
def marked_clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The same, with what victim plugins look at besides: labels, budgets, annotations, and a node with hours."""
    objects = draw(clusters())
    zone = draw(st.sampled_from(("", "", "open", "closed")))
    if zone:
        next(body for body in objects if body["kind"] == "Node")["metadata"]["labels"] = {REVOCABLE_ZONE: zone}
    groups = [body["metadata"] for body in objects if body["kind"] == "PodGroup"]
    for name, namespace in ((group["name"], group["namespace"]) for group in groups):
        marks, labels = draw(st.sampled_from(list(_MARKS.values()))), draw(st.sampled_from(({}, {"app": name})))
        for body in objects:
            if body["kind"] == "Pod" and body["metadata"]["annotations"][GROUP_NAME] == name:
                body["metadata"]["annotations"].update(marks)
                body["metadata"]["labels"] = labels
        if draw(st.booleans()):
            objects.append(
                {
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": {"selector": {"matchLabels": {"app": name}}},
                    "status": {"disruptionsAllowed": draw(st.integers(0, 6))},
                }
            )
    return objects


_amounts: Final = st.integers(1, 8)


@st.composite
def _queues(draw: st.DrawFn, name: str, path: str) -> dict[str, Any]:
    """A queue that deserves some CPUs, of which it is guaranteed a part."""
    deserved = draw(_amounts)
    weights = "/".join(str(draw(st.integers(1, 3))) for _ in range(path.count("/") + 2))
    spec: dict[str, Any] = {
        "weight": draw(st.integers(1, 3)),
        "reclaimable": draw(st.booleans()),
        "deserved": {"cpu": deserved},
    }
    if draw(st.booleans()):
        spec["guarantee"] = {"resource": {"cpu": draw(st.integers(1, deserved))}}
    if draw(st.booleans()):
        spec["capability"] = {"cpu": draw(st.integers(deserved, 12))}
    if "/" in path:
        spec["parent"] = path.split("/")[0]
    annotations = {"volcano.sh/hierarchy": f"root/{path}", "volcano.sh/hierarchy-weights": weights}
    return {"kind": "Queue", "metadata": {"name": name, "annotations": annotations}, "spec": spec}


def a_node(name: str, cpus: int) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": cpus, "pods": 110}}}


def a_job(job: dict[str, Any], pods: int, cpus: int, places: list[str]) -> list[dict[str, Any]]:
    spec = {"minMember": job["min"], "queue": job["queue"], "priorityClassName": job["priority"]}
    group: dict[str, Any] = {
        "kind": "PodGroup",
        "metadata": {"name": job["name"], "namespace": job["namespace"]},
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
            "namespace": job["namespace"],
            "annotations": {GROUP_NAME: job["name"]},
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


def simulation_of(objects: list[dict[str, Any]], policy: str, *, without: str = "nothing") -> Simulation:
    registry = checked_registry()
    parsed = parse_configuration(POLICIES[policy].replace(f", {without}", ""), registry.catalogue())
    assert parsed.config is not None, parsed.problems
    documents = [Document("generated", number, body) for number, body in enumerate(objects)]
    return Simulation(stored(documents), parsed.config, registry)


def _come_again(simulation: Simulation, known: set[str], objects: list[dict[str, Any]], turn: int) -> int:
    """Every evicted pod is created again by its controller, under a new name; how many were."""
    gone = [key for key in simulation.cluster.evictions if key not in known]
    known.update(gone)
    pods = [body for body in objects if body["kind"] == "Pod"]
    bodies = {f"{body['metadata']['namespace']}/{body['metadata']['name']}": body for body in pods}
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


@settings(max_examples=_EXAMPLES, deadline=None)
@given(marked_clusters(), st.sampled_from(sorted(POLICIES)))
def test_evictions_end_though_every_victim_comes_again(objects: list[dict[str, Any]], policy: str) -> None:
    simulation = simulation_of(objects, policy)
    known: set[str] = set()
    quiet = 0
    for turn in range(40):
        simulation.step()
        quiet = 0 if _come_again(simulation, known, objects, turn) else quiet + 1
        assert simulation.state.drift() == 0
        if quiet == 4:
            break
    assert quiet == 4, f"still evicting: {simulation.cluster.evictions[-8:]}"


@settings(max_examples=_EXAMPLES, deadline=None)
@given(clusters(), st.sampled_from(sorted(POLICIES)))
def test_a_gang_that_pods_were_evicted_for_is_bound_whole(objects: list[dict[str, Any]], policy: str) -> None:
    simulation = simulation_of(objects, policy)
    simulation.run(cycles=1)
    promised = {
        pod.metadata.annotations["scheduling.k8s.io/group-name"]
        for pod in simulation.cluster.objects("Pod", Pod)
        if pod.status.nominated_node_name
    }
    assert bool(promised) == bool(simulation.cluster.evictions)
    placed = {pod.metadata.key for pod in _staying(simulation)}
    for _ in range(3):
        simulation.step()
    minimum = {body["metadata"]["name"]: body["spec"]["minMember"] for body in objects if body["kind"] == "PodGroup"}
    # A job whose turn comes later may evict them again, so every pod that had a place counts, whatever became of it.
    bound = Counter(_group_of(key) for key in placed | set(simulation.cluster.binds))
    assert all(bound[name] >= minimum[name] for name in promised)


@settings(max_examples=_EXAMPLES, deadline=None)
@given(marked_clusters(), st.sampled_from(sorted(POLICIES)))
def test_a_gang_loses_what_it_can_spare_or_everything(objects: list[dict[str, Any]], policy: str) -> None:
    simulation = simulation_of(objects, policy)
    minimum = {body["metadata"]["name"]: body["spec"]["minMember"] for body in objects if body["kind"] == "PodGroup"}
    for _ in range(4):
        seen = len(simulation.cluster.evictions)
        simulation.step()
        losers = {_group_of(key) for key in simulation.cluster.evictions[seen:]}
        there = Counter(_group_of(pod.metadata.key) for pod in _staying(simulation))
        assert {name: there[name] for name in losers if 0 < there[name] < minimum[name]} == {}


@settings(max_examples=_EXAMPLES, deadline=None)
@given(clusters(), st.sampled_from(sorted(POLICIES)), st.randoms(use_true_random=False))
def test_the_order_in_which_objects_are_listed_decides_nothing(
    objects: list[dict[str, Any]], policy: str, rng: Any
) -> None:
    parsed = parse_configuration(POLICIES[policy], checked_registry().catalogue())
    assert parsed.config is not None
    listed = stored([Document("generated", number, body) for number, body in enumerate(objects)])
    outcomes = []
    for _ in range(2):
        simulation = Simulation(listed, parsed.config, checked_registry())
        for _ in range(4):
            simulation.step()
        outcomes.append((simulation.cluster.binds, sorted(simulation.cluster.evictions)))
        rng.shuffle(listed)
    assert outcomes[0] == outcomes[1]


@settings(max_examples=_EXAMPLES, deadline=None)
@given(clusters(), st.sampled_from(["capacity", "capacity in a tree", "priority"]))
def test_no_queue_is_reclaimed_below_its_guarantee(objects: list[dict[str, Any]], policy: str) -> None:
    """Nor is anything taken from a queue that is not reclaimable. Guarantees that the nodes cannot keep count as
    absent: which of them those are is not looked at here."""
    simulation = simulation_of(objects, policy, without="preempt")
    queues = {body["metadata"]["name"]: body["spec"] for body in objects if body["kind"] == "Queue"}
    queue_of = {body["metadata"]["name"]: body["spec"]["queue"] for body in objects if body["kind"] == "PodGroup"}
    guarantees = {name: spec.get("guarantee", {}).get("resource", {}).get("cpu", 0) for name, spec in queues.items()}
    cpus = sum(body["status"]["allocatable"]["cpu"] for body in objects if body["kind"] == "Node")
    can_be_kept = sum(guarantees.values()) <= cpus
    for _ in range(4):
        held = _held(simulation, queue_of)
        seen = len(simulation.cluster.evictions)
        simulation.step()
        evicted = Counter(queue_of[_group_of(key)] for key in simulation.cluster.evictions[seen:])
        left = _held(simulation, queue_of)
        for name in evicted:
            guaranteed = guarantees[name] if can_be_kept else 0
            assert queues[name]["reclaimable"], name
            assert left[name] >= min(held[name], guaranteed), f"{name} held {held[name]} and keeps {left[name]}"


def _group_of(key: str) -> str:
    """The PodGroup of a generated pod, by the pod's key."""
    return key.split("/")[1].split("-")[0]


def _held(simulation: Simulation, queue_of: dict[str, str]) -> Counter[str]:
    """CPUs of the pods that have a node and stay there, by queue."""
    held: Counter[str] = Counter()
    for pod in _staying(simulation):
        held[queue_of[_group_of(pod.metadata.key)]] += int(pod.spec.containers[0].resources.requests.get("cpu", 0))
    return held


def _staying(simulation: Simulation) -> list[Pod]:
    """Pods that have a node and are not leaving it."""
    pods = simulation.cluster.objects("Pod", Pod)
    return [pod for pod in pods if pod.spec.node_name and pod.metadata.deletion_timestamp is None]
