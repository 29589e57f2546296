"""Holders of what a workload lacks, and why the configured actions leave them alone."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import DEFAULT, explained, gang, node, queue, running

EVICTING = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}]
"""
PREEMPTING = EVICTING.replace("preempt, reclaim", "preempt")
NEVER = "preemptionPolicy: Never"
KEPT = "metadata: {name: holder, annotations: {volcano.sh/preemptable: 'false'}}"


def holder(cpu: str = "8", *, of: str = "default", extra: str = "", meta: str = "metadata: {name: holder}") -> str:
    """A gang of one pod that runs on n1."""
    return f"""
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
{meta}
spec: {{minMember: 1, queue: {of}}}
status: {{phase: Running}}
---
apiVersion: v1
kind: Pod
metadata: {{name: holder-0, annotations: {{scheduling.k8s.io/group-name: holder}}}}
spec:
  schedulerName: volcano
  nodeName: n1
  {extra}
  containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
status: {{phase: Running}}
---"""


@pytest.mark.parametrize(
    ("others", "waiting", "conf", "why"),
    [
        (holder(), gang(1, "4"), DEFAULT, "the configuration has no action preempt"),
        (holder(), gang(1, "4", pod="priority: -5"), DEFAULT, "its priority 0 is not below -5"),
        (holder(of="other") + queue("other"), gang(1, "9"), PREEMPTING, "the configuration has no action reclaim"),
        (holder(), gang(1, "4"), EVICTING, "its priority 0 is not below 0"),
        (
            holder(),
            gang(1, "4", pod=f"priority: 5\n  {NEVER}"),
            EVICTING,
            "preempt evicts nothing for its pods, because their preemptionPolicy is Never",
        ),
        (
            holder(meta=KEPT),
            gang(1, "4", pod="priority: 5"),
            EVICTING,
            "1 pod is protected by the annotation volcano.sh/preemptable",
        ),
        (
            node("n2") + holder("4", of="other") + queue("other") + running("3") + running("5", "n2", "more"),
            gang(1, "4"),
            EVICTING,
            "queue other holds 4 cpu and deserves 4",
        ),
        (
            holder(of="other") + queue("other", "reclaimable: false"),
            gang(1, "4"),
            EVICTING,
            "1 pod is protected by queue other (reclaimable: false)",
        ),
    ],
)
def test_a_holder_stays_for_a_reason(others: str, waiting: str, conf: str, why: str) -> None:
    found = explained(node() + others + waiting, conf)
    assert found.now.state == "Waiting", found.now
    assert [(each.job, each.stays) for each in found.holders] == [("default/holder", why)]


def test_a_holder_that_may_go_without_making_room_has_no_reason_to_stay() -> None:
    """Its 2 CPUs may go, but the pod needs 8, of which another scheduler's pod holds 4."""
    high = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5
---"""
    waiting = gang(1, "8", group="priorityClassName: high", pod="priority: 5")
    found = explained(node() + high + running("4") + holder("2") + waiting, EVICTING)
    assert [(each.job, each.stays) for each in found.holders] == [("default/holder", "")]


def test_lesser_jobs_stay_if_the_workload_has_its_minimum() -> None:
    """The gang of one has a pod; its second pod could take the place of the lesser holder, but preempt evicts for
    minimums only."""
    own = """
apiVersion: v1
kind: Pod
metadata: {name: train-9, annotations: {scheduling.k8s.io/group-name: train}}
spec:
  schedulerName: volcano
  nodeName: n1
  priority: 5
  containers: [{name: main, image: pause, resources: {requests: {cpu: "4"}}}]
status: {phase: Running}
---"""
    high = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5
---"""
    waiting = gang(1, "4", group="priorityClassName: high", pod="priority: 5")
    found = explained(node() + high + holder("4") + own + waiting, EVICTING)
    why = "preempt evicts nothing for it: the job has its minimum of 1 pod, and preempt evicts for minimums only"
    assert [(each.job, each.stays) for each in found.holders] == [("default/holder", why)]
