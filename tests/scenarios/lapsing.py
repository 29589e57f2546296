"""A cluster with the shipped configuration and a short `promiseTimeout`, second by second."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from tests.support.registries import checked_registry
from volcano_py.api.objects import PodGroup
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.scheduler import Scheduler
from volcano_py.simulation import Simulation

Object = dict[str, Any]

TIMEOUT = 5
"""Seconds, which are cycles."""


class Cluster:
    """Nodes of 50 cpu each, and what is added to them."""

    def __init__(self, *bodies: Object, nodes: int = 2, actions: str = "") -> None:
        registry = checked_registry()
        default = default_configuration_text()
        if actions:
            default = default.replace('actions: "enqueue, allocate, backfill"', f'actions: "{actions}"')
            assert actions in default
        text = f"{default}configurations:\n- name: enqueue\n  arguments: {{promiseTimeout: {TIMEOUT}s}}\n"
        parsed = parse_configuration(text, registry.catalogue())
        assert parsed.config is not None, parsed.problems
        made = [node(f"n{index}", "50") for index in range(nodes)]
        self._simulation = Simulation(_stored(*made, *bodies), parsed.config, registry)
        self.registry = registry

    def add(self, *bodies: Object) -> None:
        """They are created now."""
        moment = datetime.fromtimestamp(self._simulation.now, tz=UTC).isoformat()
        for body in bodies:
            body["metadata"].setdefault("creationTimestamp", moment)
        for kind, obj in _stored(*bodies):
            self._simulation.cluster.put(kind, obj)

    def delete(self, kind: str, name: str) -> None:
        self._simulation.cluster.remove(kind, name if "/" in name else f"default/{name}")

    def pass_by(self, seconds: int) -> None:
        for _ in range(seconds):
            self._simulation.step()

    def restart(self) -> None:
        """Another scheduler takes over; the objects stay."""
        self._simulation._scheduler = Scheduler(self.registry, self._simulation.cluster.apply)

    def group(self, name: str) -> PodGroup:
        found = self._simulation.cluster.get("PodGroup", name if "/" in name else f"default/{name}", PodGroup)
        assert found is not None
        return found

    def phase(self, name: str) -> str:
        return self.group(name).status.phase

    def reported(self, name: str) -> str:
        return " ".join(condition.message for condition in self.group(name).status.conditions)

    def write_phase(self, name: str, phase: str) -> None:
        """As whoever may edit the PodGroup can."""
        group = self.group(name)
        self._simulation.cluster.put("PodGroup", replace(group, status=replace(group.status, phase=phase)))

    def write_min_resources(self, name: str, amounts: dict[str, str] | None) -> None:
        """So, too."""
        group = self.group(name)
        changed = replace(group, spec=replace(group.spec, min_resources=amounts))
        self._simulation.cluster.put("PodGroup", changed)

    @property
    def bound(self) -> set[str]:
        return {key.partition("/")[2] for key in self._simulation.cluster.binds}

    @property
    def recheck_at(self) -> float:
        """In how many seconds time alone makes another cycle worthwhile; negative for never."""
        moment = self._simulation.reports[-1].recheck_at
        return moment - self._simulation.now if moment else -1.0


def _stored(*bodies: Object) -> Any:
    return stored([Document("test.yaml", number, body) for number, body in enumerate(bodies)])


def node(name: str, cpu: str) -> Object:
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "pods": 110}}}


def group(name: str, cpu: int, minimum: int = 1, namespace: str = "default", **spec: Any) -> Object:
    fields = {"minMember": minimum, "minResources": {"cpu": str(cpu)}, **spec}
    return {"kind": "PodGroup", "metadata": {"name": name, "namespace": namespace}, "spec": fields}


def pod(name: str, cpu: int, in_group: str = "", namespace: str = "default", **spec: Any) -> Object:
    annotations = {"scheduling.k8s.io/group-name": in_group} if in_group else {}
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"schedulerName": "volcano", "containers": [container], **spec},
    }


def vcjob(name: str, replicas: int, cpu: int, namespace: str = "default", queue: str = "default") -> Object:
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}
    task = {"name": "worker", "replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "uid": name, "namespace": namespace},
        "spec": {"queue": queue, "tasks": [task]},
    }
