"""Trials on a small cluster: which pods start, stop, wait or are evicted for which others, and what is idle."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.unit.what_if.clusters import NEW_JOB, captured, documents
from volcano_py.api.objects import OwnerReference, Pod
from volcano_py.capture.model import Capture
from volcano_py.capture.start import configuration_of
from volcano_py.config import SchedulerConfiguration, parse_configuration
from volcano_py.scheduler import builtin_registry
from volcano_py.what_if.changes import AddNodes, Change, Cordon, Delete, RemoveNode, SetField, Submit, applied
from volcano_py.what_if.difference import Difference, Finding
from volcano_py.what_if.trial import tried

REGISTRY = builtin_registry()
HIGH = "kind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n"
RECLAIM = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: predicates}, {name: proportion}]
"""
NOW = 2e9


def conf(text: str) -> SchedulerConfiguration:
    found = parse_configuration(text, REGISTRY.catalogue()).config
    assert found is not None
    return found


def trial(
    *changes: Change, capture: Capture | None = None, new: SchedulerConfiguration | None = None, cycles: int = 50
) -> Difference:
    capture = capture or captured()
    return tried(
        capture,
        REGISTRY,
        configuration_of(capture, REGISTRY),
        changes=changes,
        new_configuration=new,
        most_cycles=cycles,
    )


REFUSED_JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: refused, namespace: team, uid: refused}
spec:
  queue: web.front
  minAvailable: 1
  tasks:
  - {name: main, replicas: 1, template: {spec: {containers: [{name: main, resources: {requests: {cpu: "2"}}}]}}}
status: {state: {phase: Pending, reason: FailedCreate, message: "exceeded quota: small"}}
---
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: refused-refused, namespace: team, ownerReferences: [&job {kind: Job, name: refused, uid: refused,
  apiVersion: batch.volcano.sh/v1alpha1, controller: true}]}
spec: {minMember: 1, queue: web.front}
status: {phase: Inqueue}
---
{kind: ResourceQuota, apiVersion: v1, metadata: {name: small, namespace: team}, spec: {hard: {pods: "3"}},
  status: {hard: {pods: "3"}, used: {pods: "3"}}}
"""


def test_a_job_whose_pods_are_refused_takes_no_place_from_others() -> None:
    """Its pod would take 2 of the 8 CPUs of the node that is not cordoned."""
    refused = captured(REFUSED_JOB)
    found = [trial(Cordon("gpu-1"), capture=each).as_json() for each in (captured(), refused)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "change",
    [
        SetField("resourcequota/small.spec.hard.pods=4"),
        SetField("job/refused.spec.minAvailable=1"),
        Submit(documents("kind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n")),
    ],
)
def test_a_job_whose_pods_may_be_accepted_with_a_change_gets_them(change: Change) -> None:
    [work] = trial(change, capture=captured(REFUSED_JOB)).work
    assert (work.name, work.placed) == ("team/refused-refused", (0, 1))


def test_a_job_that_is_submitted_gets_its_pods_whatever_its_status_says() -> None:
    [work] = trial(Submit(documents(REFUSED_JOB.split("---")[0]))).work
    assert (work.name, work.placed) == ("team/refused-refused", (0, 1))


def test_without_a_difference_nothing_is_found() -> None:
    found = trial(SetField("queue/web.front.spec.weight=1"))

    assert found.findings == frozenset()
    assert found.as_json() == {
        "changes": False,
        "settled": True,
        "work": [],
        "evictions": [],
        "noLongerEvicted": [],
        "queues": {},
        "idle": {},
    }


def test_a_raised_ceiling_lets_a_gang_start_and_what_was_idle_is_used() -> None:
    found = trial(SetField("queue/research.spec.capability.cpu=16"))

    (work,) = found.work
    assert (work.name, work.starts, work.stops, work.waits) == ("team/train", 2, 0, False)
    assert work.reasons[0] is not None
    assert work.reasons[0].reason == "OverCapability"
    assert work.reasons[1] is None
    assert found.findings == {Finding.CHANGES}
    json = found.as_json()
    assert json["queues"]["research"]["allocated"]["cpu"] == {"before": "6", "after": "14"}
    assert json["queues"]["research"]["share"] == {"before": "0.75", "after": "1.00"}
    assert json["idle"]["cpu"] == {"before": "10", "after": "2"}


def test_work_that_waits_for_another_reason_is_found() -> None:
    found = trial(SetField("queue/research.spec.capability.cpu=16"), Delete("node/gpu-2"))

    (work,) = found.work
    assert (work.starts, work.waits) == (0, True)
    assert [why.reason for why in work.reasons if why is not None] == ["OverCapability", "NodesRefuse"]
    assert Finding.WAITS in found.findings


def test_work_on_a_removed_node_stops() -> None:
    found = trial(RemoveNode("gpu-1"))

    assert {work.name: (work.starts, work.stops) for work in found.work} == {"team/old": (0, 1), "team/train": (2, 0)}
    assert Finding.STOPS in found.findings


def test_new_nodes_lie_idle_where_a_ceiling_binds() -> None:
    found = trial(AddNodes("gpu-2=1"))

    assert found.work == ()
    assert found.as_json()["idle"]["cpu"] == {"before": "10", "after": "18"}


DEVICES = """
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu},
  spec: {extendedResourceName: example.com/gpu}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: all},
  spec: {driver: gpu.example.com, allNodes: true, pool: {name: all, generation: 1, resourceSliceCount: 1},
    devices: [{name: d0}, {name: d1}, {name: d2}]}}
"""
ASKS = """
{kind: PodGroup, apiVersion: scheduling.volcano.sh/v1beta1, metadata: {name: asks, namespace: team},
  spec: {minMember: 1, queue: web.front}, status: {phase: Inqueue}}
---
kind: Pod
apiVersion: v1
metadata: {name: asks-0, namespace: team, annotations: {scheduling.k8s.io/group-name: asks}}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {example.com/gpu: "2"}}}]}
"""


def test_devices_that_stand_in_for_a_resource_lie_idle_until_they_are_used() -> None:
    more = ASKS.replace("asks", "more").replace('"2"', '"1"')
    found = trial(Submit(documents(more)), capture=captured(DEVICES, ASKS))
    assert found.as_json()["idle"]["example.com/gpu"] == {"before": "1", "after": "0"}


def crowded() -> Capture:
    """One node that is nearly full, and a pod of another queue that has a right to half of it."""
    capture = captured(HIGH, NEW_JOB.replace("CPU", "4"))
    return replace(capture, items=tuple(applied([Delete("node/gpu-2"), Delete("pg/train")], capture.items, NOW)))


def test_an_evicted_pod_is_found_with_the_action_and_the_pod_that_needs_its_place() -> None:
    found = trial(capture=crowded(), new=conf(RECLAIM))

    (evicted,) = found.evictions
    assert (evicted.pod, evicted.group, evicted.action) == ("team/old-0", "team/old", "reclaim")
    assert "team/extra-0" in evicted.why
    assert found.findings == {Finding.CHANGES, Finding.EVICTIONS, Finding.STOPS}
    assert found.spared == ()
    assert found.as_json()["evictions"] == [
        {"pod": "team/old-0", "podGroup": "team/old", "action": "reclaim", "why": evicted.why}
    ]


def test_a_spared_pod_is_found_when_the_configuration_no_longer_evicts() -> None:
    found = trial(capture=replace(crowded(), configuration=RECLAIM), new=conf(RECLAIM.replace(", reclaim", "")))

    assert found.evictions == ()
    assert [each.pod for each in found.spared] == ["team/old-0"]
    assert {work.name: (work.starts, work.stops) for work in found.work} == {"team/old": (1, 0), "team/extra": (0, 1)}


def test_an_evicted_pod_of_a_replica_set_comes_back_and_waits() -> None:
    owner = OwnerReference(kind="ReplicaSet", name="w", uid="w", controller=True)
    capture = crowded()
    items = tuple(
        (kind, replace(obj, metadata=replace(obj.metadata, owner_references=[owner])) if isinstance(obj, Pod) else obj)
        for kind, obj in capture.items
    )

    found = trial(capture=replace(capture, items=items), new=conf(RECLAIM))

    assert found.settled
    assert [each.pod for each in found.evictions] == ["team/old-0"]
    old = next(work for work in found.work if work.name == "team/old")
    assert (old.placed, old.waiting) == ((1, 0), (0, 1))


def test_a_run_that_is_ended_early_says_so() -> None:
    assert not trial(SetField("queue/research.spec.capability.cpu=16"), cycles=1).settled


@pytest.mark.parametrize("gang", [1, 2])
def test_a_trial_twice_finds_the_same(gang: int) -> None:
    changes = [SetField("queue/research.spec.capability.cpu=16"), SetField(f"pg/train.spec.minMember={gang}")]

    assert trial(*changes) == trial(*changes)
