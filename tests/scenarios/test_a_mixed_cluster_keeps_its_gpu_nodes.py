"""Jobs of CPUs and jobs of GPUs come and go on 20 nodes with GPUs and 20 without: retention keeps them apart.

Whenever a pod of CPUs is put onto a node with GPUs, no node without had room for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.registries import checked_registry
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

CPUS, GPUS = 32, 8
NODES = {
    **{f"gpu-{number:02}": GPUS for number in range(20)},
    **{f"cpu-{number:02}": 0 for number in range(20)},
}
"""Node → its GPUs."""
STEPS = 40

BEST_PRACTICE = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: resource-strategy-fit
    arguments:
      resourceStrategyFitWeight: 10
      resources:
        nvidia.com/gpu: {type: MostAllocated, weight: 2}
        cpu: {type: LeastAllocated, weight: 1}
      sra:
        policy: retention
        resources: nvidia.com/gpu
        retention: {weight: WEIGHT, nvidia.com/gpu: 1}
"""


@dataclass
class Job:
    name: str
    pods: int
    cpu: int
    gpu: int

    def manifests(self) -> Iterator[dict[str, Any]]:
        metadata = {"name": self.name, "namespace": "default"}
        yield {"kind": "PodGroup", "metadata": metadata, "spec": {"minMember": self.pods, "queue": "default"}}
        request = {"cpu": self.cpu} | ({"nvidia.com/gpu": self.gpu} if self.gpu else {})
        for number in range(self.pods):
            annotations = {"scheduling.k8s.io/group-name": self.name}
            yield {
                "kind": "Pod",
                "metadata": {**metadata, "name": f"{self.name}-{number}", "annotations": annotations},
                "spec": {
                    "schedulerName": "volcano",
                    "containers": [{"name": "main", "resources": {"requests": request}}],
                },
            }


@dataclass
class Stream:
    """A cluster with jobs coming and going, and what became of each pod of CPUs."""

    weight: int
    seed: int
    idle: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NODES, CPUS))
    where: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    on_cpu_nodes: int = 0
    on_gpu_nodes: int = 0
    astray: list[str] = field(default_factory=list)
    """On a node with GPUs although there was room on one without."""

    def run(self) -> Stream:
        registry = checked_registry()
        text = BEST_PRACTICE.replace("WEIGHT", str(self.weight))
        configuration = parse_configuration(text, registry.catalogue()).config
        assert configuration is not None
        nodes = [
            {
                "kind": "Node",
                "metadata": {"name": name},
                "status": {"allocatable": {"cpu": CPUS, "memory": "256Gi", "pods": 110, "nvidia.com/gpu": gpus}},
            }
            for name, gpus in NODES.items()
        ]
        documents = [Document("nodes", number, body) for number, body in enumerate(nodes)]
        simulation = Simulation(stored(documents), configuration, registry)
        draw = random.Random(self.seed)
        for step in range(STEPS):
            self._arrive(simulation, draw, step)
            self._leave(simulation, draw)
            simulation.step()
            for pod, node in list(simulation.cluster.binds.items())[len(self.where) :]:
                self._judge(pod, node)
        assert simulation.state.drift() == 0
        return self

    def _arrive(self, simulation: Simulation, draw: random.Random, step: int) -> None:
        for number in range(draw.randint(1, 4)):
            gpu = draw.choice([0, 0, 1, 4])
            job = Job(f"j{step:02}-{number}", draw.randint(1, 8), draw.choice([2, 4, 8, 16]), gpu)
            self.jobs[job.name] = job
            documents = [Document(job.name, at, body) for at, body in enumerate(job.manifests())]
            for kind, obj in stored(documents):
                simulation.cluster.put(kind, obj)

    def _leave(self, simulation: Simulation, draw: random.Random) -> None:
        """Some of the jobs that run are done."""
        running = [name for name in self.jobs if f"default/{name}-0" in self.where]
        for name in draw.sample(running, k=len(running) // 20):
            job = self.jobs.pop(name)
            for number in range(job.pods):
                simulation.cluster.remove("Pod", f"default/{name}-{number}")
                self.idle[self.where[f"default/{name}-{number}"]] += job.cpu
            simulation.cluster.remove("PodGroup", f"default/{name}")

    def _judge(self, pod: str, node: str) -> None:
        """In the order in which pods were placed."""
        job = self.jobs[pod.removeprefix("default/").rpartition("-")[0]]
        if not job.gpu:
            has_room = any(free >= job.cpu for name, free in self.idle.items() if not NODES[name])
            if NODES[node]:
                self.on_gpu_nodes += 1
                if has_room:
                    self.astray.append(pod)
            else:
                self.on_cpu_nodes += 1
        self.where[pod] = node
        self.idle[node] -= job.cpu
        assert self.idle[node] >= 0


@pytest.mark.parametrize("seed", range(3))
def test_no_cpu_pod_takes_a_gpu_node_while_a_cpu_node_has_room(seed: int) -> None:
    stream = Stream(weight=10, seed=seed).run()
    assert stream.astray == []
    assert stream.on_cpu_nodes > 100
    assert stream.on_gpu_nodes, "CPU nodes were never full, so this has shown nothing"


def test_without_retention_they_do() -> None:
    stream = Stream(weight=0, seed=0).run()
    assert len(stream.astray) > 10
