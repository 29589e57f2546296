"""Manifests of small clusters with one thing wrong, and their explanations."""

from __future__ import annotations

from typing import Any

from volcano_py.cluster.manifests import read_text, stored
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.explain.model import WorkloadExplanation
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.world import World
from volcano_py.scheduler import builtin_registry

REGISTRY = builtin_registry()
CAPACITY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity}, {name: nodeorder}]
"""
TREE = CAPACITY.replace("{name: capacity}", "{name: capacity, enableHierarchy: true}")
QUOTA = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: resourcequota}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""
OVERCOMMIT = """
actions: "enqueue, allocate, backfill"
configurations: []
tiers:
- plugins: [{name: gang}, {name: overcommit}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""
DEFAULT = default_configuration_text()


def node(name: str = "n1", cpu: str = "8", *, extra: str = "", pods: int = 110, memory: str = "32Gi") -> str:
    return f"""
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{zone: a}}}}
spec: {{{extra}}}
status: {{allocatable: {{cpu: "{cpu}", memory: {memory}, pods: "{pods}"}}}}
---"""


def queue(name: str, spec: str = "", status: str = "") -> str:
    return f"""
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {{name: {name}}}
spec: {{{spec}}}
status: {{{status}}}
---"""


def gang(
    count: int = 1, cpu: str = "1", *, minimum: int = 0, group: str = "", pod: str = "", memory: str = "1Gi"
) -> str:
    text = f"""
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {{name: train}}
spec: {{minMember: {minimum or count}{", " if group else ""}{group}}}
---"""
    for number in range(count):
        text += f"""
apiVersion: v1
kind: Pod
metadata: {{name: train-{number}, annotations: {{scheduling.k8s.io/group-name: train}}}}
spec:
  schedulerName: volcano
  containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "{cpu}", memory: {memory}}}}}}}]
  {pod}
---"""
    return text


def volcano_job(cpu: str, count: int = 1) -> str:
    return f"""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: train}}
spec:
  minAvailable: {count}
  tasks:
  - name: main
    replicas: {count}
    template:
      spec: {{containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}
---"""


def running(cpu: str, on: str = "n1", name: str = "other") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  schedulerName: default-scheduler
  nodeName: {on}
  containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
status: {{phase: Running}}
---"""


def world_of(text: str, conf: str = DEFAULT, **more: Any) -> World:
    """The cluster of the manifests, settled; `more` as for a world."""
    parsed = parse_configuration(conf, REGISTRY.catalogue())
    assert parsed.config is not None
    return World(stored(read_text(text, "cause")), parsed.config, REGISTRY, **more)


def explained(text: str, conf: str = DEFAULT, **more: Any) -> WorkloadExplanation:
    """The explanation of the Job or PodGroup train."""
    return explain_workload(world_of(text, conf, **more), "job" if "kind: Job" in text else "podgroup", "default/train")
