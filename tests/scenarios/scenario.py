"""Scenarios: a small cluster, what is asked of it, and what must come of it, as one YAML file.

The first document is the scenario: a one-line `scenario`, short forms of `nodes`, `queues`, `namespaces` and `jobs`, an
optional `conf` (volcano-scheduler.conf), `cycles` (default: until stable), and `expect`. Further documents are
manifests as they are.

    scenario: a gang that fits is bound whole
    nodes: {n1: {cpu: 4}}
    queues: {team-a: {weight: 2}}
    jobs: [{name: train, queue: team-a, pods: 2, min: 2, request: {cpu: 2}}]
    expect:
      binds: {default/train-0: n1}       # these, exactly where
      bound: {default/train: 2}          # PodGroup → how many of its pods hold a node at the end
      evictions: []                      # exactly these
      phases: {default/train: Running}
      reported: {default/other-0: "NeverFits: .* 20 cpu"}   # pod → pattern found in why it waits
      queues: {team-a: {allocated: {cpu: "4"}}}         # these fields

A job is a PodGroup and `pods` pods called NAME-0, NAME-1, …: `min` (default 1), `min_resources`, `namespace` (default
`default`), `topology` (its networkTopology), `priority_class`, `request`, `running_on` (node of pods that run already;
a list names one node a pod, or null for a pod that waits), `running_since` (when these were scheduled),
`controller` (the name of a ReplicaSet that owns its pods; the simulation does not run it),
`annotations` and `labels` of its pods, and `spec` (further fields of the pods' spec). `parts` are its sub-groups: how
many pods are in each, or the part of each pod (null: none), by the label `volcano.sh/partition-id`; `policy` are their
`size`, `min` and `topology`. A node is what it has to
allocate, and `labels`. A HyperNode is `rack-a: {tier: 1, name: rack, nodes: [a1, a2]}`, or has `hyper_nodes`.
`shards` are NodeShards, by name: the `nodes` they desire, and `takes_queues`; `shard` is the one of this scheduler, by
its `name` and `mode`. `extender` are the answers of the extender that `conf` configures, by verb; those of `predicate`
are what it says of each node that it refuses.
Unknown keys are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tests.support.extender import Scripted
from tests.support.registries import checked_registry
from volcano_py.api.objects import Pod
from volcano_py.api.shards.node_shards import TAKES_QUEUES
from volcano_py.api.shards.sharding import Sharding
from volcano_py.cluster.manifests import Document, read_text, stored
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.simulation import Simulation
from volcano_py.yaml_events import documents

Object = dict[str, Any]

_PART = "volcano.sh/partition-id"
# A key that is misspelt would be an expectation that cannot fail.
_HEADER = frozenset(
    {
        "scenario",
        "nodes",
        "hyper_nodes",
        "queues",
        "namespaces",
        "jobs",
        "conf",
        "cycles",
        "expect",
        "shards",
        "shard",
        "extender",
    }
)
_EXPECT = frozenset({"binds", "bound", "evictions", "phases", "reported", "queues"})
_JOB = frozenset(
    {
        "name",
        "namespace",
        "queue",
        "pods",
        "min",
        "min_resources",
        "topology",
        "parts",
        "policy",
        "priority_class",
        "request",
        "running_on",
        "running_since",
        "controller",
        "spec",
        "annotations",
        "labels",
    }
)


@dataclass(frozen=True)
class Scenario:
    """One file, read."""

    path: Path
    header: Object
    documents: list[Document]

    @classmethod
    def read(cls, path: Path) -> Scenario:
        first, *rest = read_text(path.read_text(encoding="utf-8"), path.name)
        _check_keys(path.name, first.body, _HEADER)
        _check_keys(path.name, first.body["expect"], _EXPECT)
        for job in first.body.get("jobs", []):
            _check_keys(path.name, job, _JOB)
        return cls(path, first.body, rest)

    def messages(self) -> dict[str, str]:
        """Run it: why each pod waits."""
        seen = self._simulation().run(self.header.get("cycles")).as_json()
        reported: dict[str, str] = seen["unschedulable"]
        return reported

    def check(self) -> None:
        """Run it, and compare."""
        simulation = self._simulation()
        result = simulation.run(self.header.get("cycles"))
        seen = result.as_json()
        expected = self.header["expect"]
        for pod, node in expected.get("binds", {}).items():
            assert seen["binds"].get(pod) == node, f"{pod}: {seen['binds'].get(pod)} ({seen['unschedulable'].get(pod)})"
        if "evictions" in expected:
            assert sorted(seen["evictions"]) == sorted(expected["evictions"])
        if "bound" in expected:
            held = _held(simulation)
            counts = {group: held[group] for group in expected["bound"]}
            assert counts == expected["bound"], f"{counts}\n{seen['unschedulable']}"
        for group, phase in expected.get("phases", {}).items():
            assert seen["podGroups"][group]["phase"] == phase, f"{group}: {seen['podGroups'][group]}"
        for pod, pattern in expected.get("reported", {}).items():
            reported = seen["unschedulable"].get(pod, "")
            assert re.search(pattern, reported), f"{pod}: {reported!r} has no {pattern!r}"
        for queue, fields in expected.get("queues", {}).items():
            for field, value in fields.items():
                assert seen["queues"][queue][field] == value, f"{queue}.{field}: {seen['queues'][queue][field]}"
        assert simulation.state.drift() == 0
        assert result.settled or "cycles" in self.header, f"not settled after {result.cycles} cycles"
        assert not any(report.plugin_errors for report in result.reports)
        assert not any(report.action_errors for report in result.reports)

    def _simulation(self) -> Simulation:
        registry = checked_registry()
        text = self.header.get("conf", default_configuration_text())
        parsed = parse_configuration(text, registry.catalogue())
        assert parsed.config is not None, parsed.problems
        rules = GroupRules(sharding=msgspec.convert(self.header["shard"], Sharding)) if "shard" in self.header else None
        makers = (_shards, _nodes, _hyper_nodes, _queues, _namespaces, _jobs)
        short = [each for make in makers for each in make(self.header)]
        documents = [Document(self.path.name, number, body) for number, body in enumerate(short)]
        items = stored([*documents, *self.documents])
        return Simulation(items, parsed.config, registry, rules=rules, extender=_extender(self.header))


def _extender(header: Object) -> Scripted | None:
    answers = dict(header.get("extender", {}))
    if refused := answers.pop("predicate", None):
        answers["predicate"] = lambda body: {"status": refused.get(body["node"]["Name"], ""), "code": 2}
    return Scripted(answers) if answers else None


def _check_keys(where: str, found: Object, known: frozenset[str]) -> None:
    unknown = sorted(found.keys() - known)
    assert not unknown, f"{where}: unknown keys {unknown}, known are {sorted(known)}"


def _held(simulation: Simulation) -> Counter[str]:
    """PodGroup → pods of it that hold a node."""
    return Counter(
        f"{pod.metadata.namespace}/{pod.metadata.annotations.get('scheduling.k8s.io/group-name')}"
        for pod in simulation.cluster.objects("Pod", Pod)
        if pod.spec.node_name
    )


def _shards(header: Object) -> list[Object]:
    return [
        {
            "kind": "NodeShard",
            "metadata": {"name": name, "labels": {TAKES_QUEUES.key: str(shard.get("takes_queues", True)).lower()}},
            "spec": {"nodesDesired": shard["nodes"]},
        }
        for name, shard in header.get("shards", {}).items()
    ]


def _nodes(header: Object) -> list[Object]:
    return [
        {
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **fields.get("labels", {})}},
            "status": {"allocatable": {"memory": "1Ti", "pods": 110, **_without_labels(fields)}},
        }
        for name, fields in header.get("nodes", {}).items()
    ]


def _hyper_nodes(header: Object) -> list[Object]:
    return [
        {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": {
                "tier": fields["tier"],
                "tierName": fields.get("name", ""),
                "members": [
                    {"type": kind, "selector": {"exactMatch": {"name": member}}}
                    for kind, key in (("Node", "nodes"), ("HyperNode", "hyper_nodes"))
                    for member in fields.get(key, [])
                ],
            },
        }
        for name, fields in header.get("hyper_nodes", {}).items()
    ]


def _without_labels(node: Object) -> Object:
    return {key: value for key, value in node.items() if key != "labels"}


def _queues(header: Object) -> list[Object]:
    return [
        {
            "kind": "Queue",
            "metadata": {"name": name, "annotations": (spec or {}).get("annotations", {})},
            "spec": {key: value for key, value in (spec or {}).items() if key != "annotations"},
        }
        for name, spec in header.get("queues", {}).items()
    ]


def _namespaces(header: Object) -> list[Object]:
    """Namespace → its fair-share weight, carried by a ResourceQuota."""
    return [
        {
            "kind": "ResourceQuota",
            "metadata": {"name": "weight", "namespace": name},
            "spec": {"hard": {"volcano.sh/namespace.weight": str(weight)}},
        }
        for name, weight in header.get("namespaces", {}).items()
    ]


def _jobs(header: Object) -> list[Object]:
    objects: list[Object] = []
    for job in header.get("jobs", []):
        namespace = job.get("namespace", "default")
        spec: Object = {"minMember": job.get("min", 1), "queue": job.get("queue", "default")}
        if "min_resources" in job:
            spec["minResources"] = job["min_resources"]
        if "topology" in job:
            spec["networkTopology"] = job["topology"]
        if "policy" in job:
            spec["subGroupPolicy"] = [_policy(job)]
        if "priority_class" in job:
            spec["priorityClassName"] = job["priority_class"]
        group = {"kind": "PodGroup", "metadata": {"name": job["name"], "namespace": namespace}, "spec": spec}
        if job.get("running_on"):
            group["status"] = {"phase": "Running"}
        objects.append(group)
        objects.extend(_pod(job, namespace, index) for index in range(job.get("pods", 1)))
    return objects


def _policy(job: Object) -> Object:
    _check_keys("policy", job["policy"], frozenset({"size", "min", "topology"}))
    names = {"size": "subGroupSize", "min": "minSubGroups", "topology": "networkTopology"}
    policy = {names[key]: value for key, value in job["policy"].items()}
    return {"name": "part", "matchLabelKeys": [_PART], **policy}


def _part_of(job: Object, index: int) -> Object:
    parts = job.get("parts")
    part = index // parts if isinstance(parts, int) else parts[index] if parts else None
    return {} if part is None else {_PART: str(part)}


def _pod(job: Object, namespace: str, index: int) -> Object:
    spec: Object = {
        "schedulerName": "volcano",
        "containers": [{"name": "main", "resources": {"requests": job.get("request", {})}}],
        **job.get("spec", {}),
    }
    if "priority_class" in job:
        spec["priorityClassName"] = job["priority_class"]
    pod: Object = {
        "kind": "Pod",
        "metadata": {
            "name": f"{job['name']}-{index}",
            "namespace": namespace,
            "annotations": {"scheduling.k8s.io/group-name": job["name"], **job.get("annotations", {})},
            "labels": {**job.get("labels", {}), **_part_of(job, index)},
        },
        "spec": spec,
    }
    if controller := job.get("controller"):
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": controller,
            "uid": controller,
            "controller": True,
        }
        pod["metadata"]["ownerReferences"] = [owner]
    nodes = job.get("running_on")
    if node := nodes[index] if isinstance(nodes, list) else nodes:
        spec["nodeName"] = node
        pod["status"] = {"phase": "Running"}
        if since := job.get("running_since"):
            scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
            pod["status"]["conditions"] = [scheduled]
    return pod


def scenarios_below(folder: Path) -> list[Scenario]:
    """All scenarios, by file name."""
    return [found for path in sorted(folder.rglob("*.yaml")) if (found := _read(path)) is not None]


@cache
def _read(path: Path) -> Scenario | None:
    """The scenario of a file, unless the file is something else. It is read once for all tests; none changes it."""
    found = documents(path.read_text(encoding="utf-8"))
    first = next(iter(found), None)
    return Scenario.read(path) if isinstance(first, dict) and "scenario" in first else None
