"""One cause each is put into a cluster that is otherwise free: the explanation marks the limit that it is about."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.unit.explain.causes import (
    CAPACITY,
    DEFAULT,
    OVERCOMMIT,
    QUOTA,
    TREE,
    explained,
    gang,
    node,
    queue,
    running,
    volcano_job,
)

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
    ("a cordoned node", node(extra="unschedulable: true") + gang(), DEFAULT, "nodes", "", "uncordon"),
    ("no node at all", gang(), DEFAULT, "cluster", "", ""),
    ("too many pods on the node", node(pods=1) + running("1") + gang(), DEFAULT, "cluster", "", "nodes"),
    ("a scheduling gate", TWO + gang(pod="schedulingGates: [{name: example.com/wait}]"), DEFAULT, "object", "", "gate"),
    (
        "a claim that does not exist",
        TWO + gang(pod="volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"),
        DEFAULT,
        "object",
        "",
        "claim",
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
        "a closing queue below a full one",
        TWO
        + queue("up", 'capability: {cpu: "2"}')
        + queue("r", "parent: up")
        + gang(1, "2", group="queue: r", pod="nodeName: n1").replace("train", "rival")
        + queue("q", "parent: up", status="state: Closing")
        + gang(group="queue: q"),
        TREE,
        "queue",
        "q",
        "",
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
    (
        "a capability of the queue above",
        TWO + queue("up", 'capability: {cpu: "2"}') + queue("q", "parent: up") + gang(1, "4", group="queue: q"),
        TREE,
        "queue",
        "up",
        "capability",
    ),
    (
        "a guarantee of another queue",
        TWO + queue("other", "guarantee: {resource: {cpu: '14'}}") + queue("q") + gang(1, "4", group="queue: q"),
        CAPACITY,
        "queue",
        "q",
        "smaller-pods",
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


def test_a_job_without_replicas_waits_for_nothing() -> None:
    found = explained(node() + volcano_job("1", 0))
    assert (found.now.state, found.now.running, found.now.wanted, found.now.reason) == ("Running", 0, 0, "")
    assert found.now.hints == ("all tasks of the Job have 0 replicas: raise replicas of a task for it to have pods",)
    assert found.remedies == ()


UNREADY = "taints: [{key: node.kubernetes.io/unreachable, effect: NoExecute}]"


@pytest.mark.parametrize(
    ("nodes", "lost"),
    [
        (node("n1") + node("n2"), ()),
        (node("n2"), ("node n1 does not exist any more, so the 1 pod there cannot run",)),
        (
            node("n1", extra=UNREADY) + node("n2"),
            ("node n1 is not ready, so the 1 pod there may not run: look at kubectl describe node n1",),
        ),
    ],
    ids=["ready", "deleted", "unreachable"],
)
def test_nodes_on_which_pods_may_not_run_any_more_are_named(nodes: str, lost: tuple[str, ...]) -> None:
    placed = gang().replace("schedulerName: volcano\n", "schedulerName: volcano\n  nodeName: n1\n")
    found = explained(nodes + placed.removesuffix("---") + "status: {phase: Running}\n---")
    assert (found.now.state, found.now.nodes, found.now.lost_nodes) == ("Running", {"n1": 1}, lost)
