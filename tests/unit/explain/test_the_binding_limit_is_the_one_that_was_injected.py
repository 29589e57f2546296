"""One cause each is put into a cluster that is otherwise free: the explanation marks the limit that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

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


QUOTA_OF_CPU = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {"requests.cpu": "2"}}
status: {hard: {"requests.cpu": "2"}, used: {"requests.cpu": "1"}}
---"""
QUOTA_OF_PODS = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {pods: "2"}}
status: {hard: {pods: "2"}, used: {pods: "2"}}
---"""
TWO = node("n1") + node("n2")
ALL_OF = "minResources: {cpu: "

# (what was injected, manifests, configuration, kind of the binding limit, its name or "", what helps)
CAUSES: Sequence[tuple[str, str, str, str, str, str]] = [
    ("a pod is missing", TWO + gang(1, minimum=2), DEFAULT, "gang", "", "missing-pods"),
    ("three pods are missing", TWO + gang(1, minimum=4), DEFAULT, "gang", "", "fewer-pods"),
    ("a pod larger than each node", TWO + gang(1, "12"), DEFAULT, "nodes", "", "smaller-pods"),
    ("a pod of more memory than each node", TWO + gang(1, memory="64Gi"), DEFAULT, "nodes", "", "smaller-pods"),
    ("a full node", node() + running("8") + gang(1, "2"), DEFAULT, "cluster", "", "nodes"),
    ("a full cluster", TWO + running("8") + running("7", "n2", "b") + gang(1, "2"), DEFAULT, "cluster", "", "nodes"),
    ("fragments", TWO + running("5") + running("5", "n2", "b") + gang(1, "5"), DEFAULT, "nodes", "", "smaller-pods"),
    ("a gang larger than the cluster", TWO + gang(5, "4"), DEFAULT, "cluster", "", "fewer-pods"),
    ("a gang that a node more would take", TWO + gang(5, "4"), DEFAULT, "cluster", "", "nodes"),
    ("a selector no node has", TWO + gang(pod="nodeSelector: {pool: gpu}"), DEFAULT, "nodes", "", "selector"),
    ("a zone no node has", TWO + gang(pod="nodeSelector: {zone: b}"), DEFAULT, "nodes", "", "selector"),
    (
        "an affinity no node meets",
        TWO
        + gang(
            pod="affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: zone, operator: In, values: [b]}]}]}}}"
        ),
        DEFAULT,
        "nodes",
        "",
        "affinity",
    ),
    (
        "a taint",
        node(extra="taints: [{key: dedicated, value: gpu, effect: NoSchedule}]") + gang(),
        DEFAULT,
        "nodes",
        "",
        "toleration",
    ),
    (
        "a taint without a value",
        node(extra="taints: [{key: special, effect: NoExecute}]") + gang(),
        DEFAULT,
        "nodes",
        "",
        "toleration",
    ),
    ("a cordoned node", node(extra="unschedulable: true") + gang(), DEFAULT, "nodes", "", ""),
    ("no node at all", gang(), DEFAULT, "cluster", "", ""),
    ("too many pods on the node", node(pods=1) + running("1") + gang(), DEFAULT, "cluster", "", "nodes"),
    ("a scheduling gate", TWO + gang(pod="schedulingGates: [{name: example.com/wait}]"), DEFAULT, "object", "", "gate"),
    (
        "a claim that does not exist",
        TWO + gang(pod="volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"),
        DEFAULT,
        "object",
        "",
        "",
    ),
    ("a queue that does not exist", TWO + gang(group="queue: nowhere"), DEFAULT, "queue", "nowhere", "queue"),
    (
        "a closed queue",
        TWO + queue("q", status="state: Closed") + gang(group="queue: q"),
        DEFAULT,
        "queue",
        "q",
        "queue",
    ),
    (
        "a pod above its queue's capability",
        TWO + queue("q", 'capability: {cpu: "2"}') + gang(1, "4", group="queue: q"),
        DEFAULT,
        "queue",
        "q",
        "capability",
    ),
    (
        "a gang above its queue's capability",
        TWO + queue("q", 'capability: {cpu: "2"}') + gang(4, "1", group=f'queue: q, {ALL_OF}"4"}}'),
        DEFAULT,
        "queue",
        "q",
        "fewer-pods",
    ),
    (
        "a capability of memory",
        TWO + queue("q", "capability: {memory: 1Gi}") + gang(1, memory="2Gi", group="queue: q"),
        DEFAULT,
        "queue",
        "q",
        "capability",
    ),
    (
        "a capability of the capacity plugin",
        TWO + queue("q", 'capability: {cpu: "2"}') + gang(1, "4", group="queue: q"),
        CAPACITY,
        "queue",
        "q",
        "capability",
    ),
    ("a quota of cpu", TWO + QUOTA_OF_CPU + volcano_job("2"), QUOTA, "quota", "team", "quota"),
    ("a quota of pods", TWO + QUOTA_OF_PODS + volcano_job("1"), QUOTA, "quota", "team", "quota"),
    ("a quota of cpu of two pods", TWO + QUOTA_OF_CPU + volcano_job("1", 2), QUOTA, "quota", "team", "fewer-pods"),
    (
        "an overcommitted cluster",
        node(cpu="2") + running("2") + gang(2, "2", group=f'{ALL_OF}"4"}}'),
        OVERCOMMIT,
        "cluster",
        "",
        "nodes",
    ),
    (
        "spread over zones that are not there",
        node()
        + gang(
            1,
            pod="topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, "
            "labelSelector: {}}]",
        ),
        DEFAULT,
        "nodes",
        "",
        "spread",
    ),
]


@pytest.mark.parametrize(("cause", "text", "conf", "kind", "name", "helps"), CAUSES, ids=[each[0] for each in CAUSES])
def test_the_limit_of_the_cause_binds_and_its_remedy_is_found(
    cause: str, text: str, conf: str, kind: str, name: str, helps: str
) -> None:
    explanation = explained(text, conf)
    assert explanation.now.state == "Waiting", cause
    binding = [limit for limit in explanation.limits if limit.binding]
    assert [limit.kind for limit in binding] == [kind]
    assert not name or binding[0].name == name
    kinds = {remedy.kind for remedy in explanation.remedies}
    assert helps in kinds if helps else not kinds


def test_a_workload_that_runs_says_where() -> None:
    now = explained(TWO + gang(2)).now
    assert (now.state, now.running, sum(now.nodes.values())) == ("Starting", 2, 2)
    assert now.reason == ""


def explained(text: str, conf: str = DEFAULT, **more: Any) -> WorkloadExplanation:
    parsed = parse_configuration(conf, REGISTRY.catalogue())
    assert parsed.config is not None
    world = World(stored(read_text(text, "cause")), parsed.config, REGISTRY, **more)
    return explain_workload(world, "job" if "kind: Job" in text else "podgroup", "default/train")
