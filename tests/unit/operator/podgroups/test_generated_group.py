"""The PodGroup that a pod without one gets: each of its fields, and which pods get it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from volcano_py.api.bounds import GROUP_RESOURCES
from volcano_py.api.objects import ObjectMeta, OwnerReference, Pod, PodGroup, PodGroupSpec
from volcano_py.api.workloads import Workload, WorkloadSpec, WorkloadStatus
from volcano_py.operator.podgroups.generated_group import (
    GroupPlan,
    GroupRules,
    as_named,
    generated_name,
    group_as_json,
    group_changes,
    inheriting_owner,
    plan_group,
    pod_annotation,
    representative,
    wants_group,
)

RULES = GroupRules()
REPLICA_SET = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web-5d", uid="rs-uid", controller=True)


def pod(
    name: str = "solo",
    *,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    owner: OwnerReference | None = None,
    phase: str = "Pending",
    deleted: bool = False,
    created: int = 0,
    **spec: Any,
) -> Pod:
    """A pod of our scheduler as the API server would send it."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "annotations": annotations or {},
        "labels": labels or {},
        "ownerReferences": [msgspec.to_builtins(owner)] if owner else [],
        "creationTimestamp": datetime.fromtimestamp(created, UTC).isoformat(),
    }
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    body = {"metadata": metadata, "spec": {"schedulerName": "volcano"} | spec, "status": {"phase": phase}}
    return msgspec.convert(body, Pod)


def workload(annotations: dict[str, str] | None = None, *, replicas: int = 3, revision: str = "") -> Workload:
    return Workload(
        metadata=ObjectMeta(name="web-5d", namespace="ns", uid="rs-uid", annotations=annotations or {}),
        spec=WorkloadSpec(replicas=replicas),
        status=WorkloadStatus(update_revision=revision),
    )


def plan(
    subject: Pod, owner: Workload | None = None, namespace: dict[str, str] | None = None, **rules: Any
) -> GroupPlan:
    return plan_group(subject, owner, namespace or {}, GroupRules(**rules))


def asking(**amounts: str) -> dict[str, Any]:
    return {"name": "main", "resources": {"requests": amounts}}


@pytest.mark.parametrize(
    ("subject", "wanted"),
    [
        pytest.param(pod(), True, id="ours, without a group"),
        pytest.param(pod(schedulerName="default-scheduler"), False, id="another scheduler's"),
        pytest.param(pod(annotations={"scheduling.k8s.io/group-name": "mine"}), False, id="names a group"),
        pytest.param(pod(annotations={"scheduling.k8s.io/group-name": ""}), True, id="names an empty group"),
        pytest.param(pod(annotations={"scheduling.volcano.sh/group-name": "x"}), True, id="only another key"),
        pytest.param(pod(phase="Succeeded"), False, id="succeeded"),
        pytest.param(pod(phase="Failed"), False, id="failed"),
        pytest.param(pod(phase="Running"), True, id="running"),
        pytest.param(pod(deleted=True), False, id="being deleted"),
    ],
)
def test_which_pods_get_a_group(subject: Pod, wanted: bool) -> None:
    assert wants_group(subject, RULES) is wanted


def test_all_configured_scheduler_names_are_ours() -> None:
    assert wants_group(pod(schedulerName="batch"), GroupRules(scheduler_names=frozenset({"volcano", "batch"})))


def test_a_bare_pod_has_a_group_of_its_own() -> None:
    group = plan(pod()).group
    assert (group.metadata.name, group.metadata.namespace) == ("podgroup-uid-solo", "ns")
    assert group.metadata.owner_references == [
        OwnerReference(api_version="v1", kind="Pod", name="solo", uid="uid-solo", controller=True)
    ]


def test_pods_of_one_owner_share_its_group() -> None:
    first, second = pod("web-1", owner=REPLICA_SET), pod("web-2", owner=REPLICA_SET)
    assert generated_name(first) == generated_name(second) == "podgroup-rs-uid"
    assert plan(first).group.metadata.owner_references == [REPLICA_SET]


def test_an_owner_that_does_not_control_the_pod_is_no_owner() -> None:
    bystander = OwnerReference(api_version="v1", kind="ConfigMap", name="c", uid="c-uid")
    assert generated_name(pod(owner=bystander)) == "podgroup-uid-solo"


@pytest.mark.parametrize(
    ("api_version", "kind", "inherits"),
    [
        ("apps/v1", "ReplicaSet", True),
        ("apps/v1", "DaemonSet", True),
        ("apps/v1", "StatefulSet", True),
        ("batch/v1", "Job", True),
        ("batch.volcano.sh/v1alpha1", "Job", False),
        ("v1", "ReplicationController", False),
        ("ray.io/v1", "RayCluster", False),
    ],
)
def test_whose_annotations_are_inherited(api_version: str, kind: str, inherits: bool) -> None:
    owner = OwnerReference(api_version=api_version, kind=kind, name="o", uid="o-uid", controller=True)
    assert inheriting_owner(pod(owner=owner)) == (owner if inherits else None)


@pytest.mark.parametrize(
    ("api_version", "name"),
    [("apps/v1", "x HTTP/1.1\r\nHost: h\r\n\r\nDELETE /api"), ("apps/v1", ".."), ("apps/v1", ""), ("apps/v 1", "web")],
)
def test_a_controller_that_cannot_exist_is_not_looked_for(api_version: str, name: str) -> None:
    owner = OwnerReference(api_version=api_version, kind="ReplicaSet", name=name, uid="o-uid", controller=True)
    assert inheriting_owner(pod(owner=owner)) is None
    (warning,) = plan(pod(owner=owner)).warnings
    assert warning.startswith(f"the pod's controller has no valid name, {f'{api_version} ReplicaSet'!r:.8}")


@pytest.mark.parametrize(
    ("text", "minimum", "is_read"),
    [
        (None, 1, True),
        ("3", 3, True),
        ("0", 0, True),
        (" 4 ", 4, True),
        ("+5", 5, True),
        ("-1", 1, False),
        ("many", 1, False),
        ("", 1, False),
        ("2.5", 1, False),
        ("1_000", 1, False),
        ("٣", 1, False),
        ("2147483648", 1, False),
        ("9" * 5000, 1, False),
    ],
)
def test_the_minimum_is_the_owners_or_one(text: str | None, minimum: int, is_read: bool) -> None:
    annotations = {} if text is None else {"scheduling.volcano.sh/group-min-member": text}
    made = plan(pod(owner=REPLICA_SET), workload(annotations))
    assert made.group.spec.min_member == minimum
    assert (made.warnings == ()) is is_read


def test_a_bad_minimum_is_reported() -> None:
    made = plan(pod(owner=REPLICA_SET), workload({"scheduling.volcano.sh/group-min-member": "many"}))
    (warning,) = made.warnings
    assert warning == (
        "the owner's annotation scheduling.volcano.sh/group-min-member is 'many': write a number, 0 or more; "
        "until then it counts as 1"
    )


def test_a_bad_minimum_of_any_length_is_reported_with_the_fix() -> None:
    made = plan(pod(owner=REPLICA_SET), workload({"scheduling.volcano.sh/group-min-member": "x" * 200_000}))
    (warning,) = made.warnings
    assert len(warning) < 300
    assert warning.endswith("write a number, 0 or more; until then it counts as 1")


def test_the_pods_own_minimum_does_not_count() -> None:
    assert plan(pod(annotations={"scheduling.volcano.sh/group-min-member": "3"})).group.spec.min_member == 1


def test_min_resources_are_the_quota_usage_of_the_minimum() -> None:
    container = asking(cpu="1500m", memory="1Gi", **{"nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"})
    container["resources"]["limits"] = {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"}
    owner = workload({"scheduling.volcano.sh/group-min-member": "3"})
    made = plan(pod(owner=REPLICA_SET, containers=[container]), owner)
    assert made.group.spec.min_resources == {
        "count/pods": "3",
        "cpu": "4500m",
        "hugepages-2Mi": "12Mi",
        "limits.cpu": "6",
        "limits.memory": "3Gi",
        "memory": "3Gi",
        "nvidia.com/gpu": "6",
        "pods": "3",
        "requests.cpu": "4500m",
        "requests.hugepages-2Mi": "12Mi",
        "requests.memory": "3Gi",
        "requests.nvidia.com/gpu": "6",
    }


def test_min_resources_count_init_containers_sidecars_and_overhead() -> None:
    limited = {"name": "main", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    sidecar = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": 1}}}
    big = {"name": "init", "resources": {"requests": {"cpu": "8"}, "limits": {"cpu": "8"}}}
    overhead = {"cpu": "250m", "memory": "100Mi"}
    made = plan(pod(containers=[limited], initContainers=[sidecar, big], overhead=overhead))
    assert made.group.spec.min_resources == {
        "count/pods": "1",
        "cpu": "9250m",
        "limits.cpu": "9250m",
        "memory": "100Mi",
        "pods": "1",
        "requests.cpu": "9250m",
        "requests.memory": "100Mi",
    }


def test_min_resources_take_amounts_for_the_whole_pod() -> None:
    whole = {"requests": {"cpu": "3"}, "limits": {"cpu": "5"}}
    made = plan(pod(containers=[asking(cpu="1")], resources=whole))
    resources = made.group.spec.min_resources or {}
    assert (resources["cpu"], resources["limits.cpu"]) == ("3", "5")


def test_a_pod_that_asks_for_nothing_still_counts_as_a_pod() -> None:
    assert plan(pod()).group.spec.min_resources == {"count/pods": "1", "pods": "1"}


def test_a_minimum_of_zero_promises_nothing() -> None:
    made = plan(pod(owner=REPLICA_SET), workload({"scheduling.volcano.sh/group-min-member": "0"}))
    assert made.group.spec.min_resources == {"count/pods": "0", "pods": "0"}


def test_impossible_amounts_leave_min_resources_out_and_are_reported() -> None:
    """The API server takes them for the pod, but its text of them would be too long for the PodGroup."""
    made = plan(pod(containers=[asking(cpu="1e400000")]))
    assert made.group.spec.min_resources is None
    assert made.warnings == ("minResources of the pod's PodGroup left out: the request for cpu is out of range",)


def test_so_many_resources_that_the_group_would_be_refused_leave_min_resources_out() -> None:
    """The pod gets a message that says what is wrong with it from the scheduler, for which it needs a group."""
    most = {f"x/r{number}": "1" for number in range(495)}
    made = plan(pod(containers=[asking(**most)]))
    assert made.group.spec.min_resources is not None
    assert len(made.group.spec.min_resources) <= GROUP_RESOURCES.most

    made = plan(pod(containers=[asking(**most, more="1")]))
    assert made.group.spec.min_resources is None
    assert made.warnings == ("minResources of the pod's group left out: the pod asks for 496 resources",)


def test_amounts_that_cannot_be_read_leave_min_resources_out_and_are_reported() -> None:
    made = plan(pod(containers=[asking(cpu="-1")]))
    assert made.group.spec.min_resources is None
    assert made.warnings == (
        (
            "minResources of the pod's PodGroup left out: "
            "spec.containers[0].resources.requests.cpu: -1 is negative; it must be 0 or more"
        ),
    )


def test_the_priority_class_is_the_pods() -> None:
    assert plan(pod(priorityClassName="urgent")).group.spec.priority_class_name == "urgent"


@pytest.mark.parametrize(
    ("own", "of_namespace", "queue"),
    [
        (None, None, "default"),
        ("research", None, "research"),
        (None, "team-a", "team-a"),
        ("research", "team-a", "research"),
        ("default", "team-a", "team-a"),
        ("default", None, "default"),
        ("", "", "default"),
    ],
)
def test_the_queue_is_the_pods_or_its_namespaces(own: str | None, of_namespace: str | None, queue: str) -> None:
    key = "scheduling.volcano.sh/queue-name"
    annotations = {} if own is None else {key: own}
    namespace = {} if of_namespace is None else {key: of_namespace}
    assert plan(pod(annotations=annotations), namespace=namespace).group.spec.queue == queue


def test_another_default_queue_is_taken_where_nothing_is_named() -> None:
    assert plan(pod(), default_queue="lab").group.spec.queue == "lab"


def test_annotations_come_from_the_owner_and_the_pods_own_win() -> None:
    owner = workload(
        {
            "volcano.sh/preemptable": "true",
            "volcano.sh/sla-waiting-time": "1h",
            "scheduling.volcano.sh/queue-name": "not inherited",
            "example.com/note": "not inherited",
        }
    )
    own = {
        "volcano.sh/preemptable": "false",
        "volcano.sh/cooldown-time": "10m",
        "volcano.sh/revocable-zone": "*",
        "volcano.sh/jdb-min-available": "1",
        "volcano.sh/jdb-max-unavailable": "50%",
        "volcano.sh/task-spec": "not inherited",
    }
    group = plan(pod(annotations=own, owner=REPLICA_SET), owner).group
    assert group.metadata.annotations == {
        "volcano.sh/preemptable": "false",
        "volcano.sh/sla-waiting-time": "1h",
        "volcano.sh/cooldown-time": "10m",
        "volcano.sh/revocable-zone": "*",
        "volcano.sh/jdb-min-available": "1",
        "volcano.sh/jdb-max-unavailable": "50%",
    }


def test_nothing_is_taken_from_the_owner_when_inheriting_is_off() -> None:
    owner = workload({"volcano.sh/preemptable": "true", "scheduling.volcano.sh/group-min-member": "4"})
    group = plan(pod(owner=REPLICA_SET), owner, inherit_owner_annotations=False).group
    assert (group.metadata.annotations, group.spec.min_member) == ({}, 1)
    assert group.metadata.name == "podgroup-rs-uid"


def test_only_two_labels_are_inherited_from_the_pod() -> None:
    labels = {"volcano.sh/preemptable": "true", "volcano.sh/cooldown-time": "5m", "app": "web"}
    group = plan(pod(labels=labels)).group
    assert group.metadata.labels == {"volcano.sh/preemptable": "true", "volcano.sh/cooldown-time": "5m"}


@pytest.mark.parametrize(
    ("mode", "tier", "topology", "warning"),
    [
        (None, None, None, ""),
        ("hard", None, {"mode": "hard"}, ""),
        ("soft", "2", {"mode": "soft", "highestTierAllowed": 2}, ""),
        (None, "1", {"mode": "hard", "highestTierAllowed": 1}, ""),
        (
            "hard",
            "x",
            {"mode": "hard"},
            "volcano.sh/network-topology-highest-tier is 'x': write a number, 0 or more",
        ),
        ("hard", "-1", {"mode": "hard"}, "volcano.sh/network-topology-highest-tier is '-1'"),
        ("firm", None, None, "volcano.sh/network-topology-mode is 'firm': write hard or soft, and create"),
    ],
)
def test_network_topology_comes_from_the_pod(
    mode: str | None, tier: str | None, topology: dict[str, Any] | None, warning: str
) -> None:
    pairs = {"volcano.sh/network-topology-mode": mode, "volcano.sh/network-topology-highest-tier": tier}
    made = plan(pod(annotations={key: value for key, value in pairs.items() if value is not None}))
    assert made.group.spec.network_topology == topology
    assert warning in "".join(made.warnings)
    assert bool(made.warnings) is bool(warning)


def test_the_group_as_it_goes_out() -> None:
    body = group_as_json(plan(pod(containers=[asking(cpu="1")])).group)
    assert body == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": "podgroup-uid-solo",
            "namespace": "ns",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "solo", "uid": "uid-solo", "controller": True}
            ],
        },
        "spec": {
            "minMember": 1,
            "queue": "default",
            "minResources": {"count/pods": "1", "cpu": "1", "pods": "1", "requests.cpu": "1"},
        },
        "status": {"phase": "Pending"},
    }


def test_the_pod_is_annotated_on_condition_that_it_has_not_changed() -> None:
    assert pod_annotation(pod(), "podgroup-x") == {
        "metadata": {
            "annotations": {"scheduling.k8s.io/group-name": "podgroup-x"},
            "uid": "uid-solo",
            "resourceVersion": "7",
        }
    }


def group(annotations: dict[str, str] | None = None, **spec: Any) -> PodGroup:
    return PodGroup(metadata=ObjectMeta(name="g", annotations=annotations or {}), spec=PodGroupSpec(**spec))


def test_an_existing_group_follows_its_owner() -> None:
    existing = group({"volcano.sh/a": "1", "other": "kept"}, min_member=1, min_resources={"cpu": "1", "gone": "1"})
    wanted = group({"volcano.sh/a": "2", "volcano.sh/b": "3"}, min_member=2, min_resources={"cpu": "2"})
    assert group_changes(existing, wanted) == {
        "spec": {"minMember": 2, "minResources": {"cpu": "2", "gone": None}},
        "metadata": {"annotations": {"volcano.sh/a": "2", "volcano.sh/b": "3"}},
    }


def test_a_group_that_is_as_wanted_is_not_written() -> None:
    existing = group({"x": "kept"}, min_member=2, min_resources={"memory": "1Gi", "cpu": 1}, queue="moved-by-hand")
    wanted = group(min_member=2, min_resources={"memory": "1024Mi", "cpu": "1000m"}, queue="default")
    assert group_changes(existing, wanted) == {}


def test_min_resources_that_became_unreadable_are_left_as_they_are() -> None:
    assert group_changes(group(min_resources={"cpu": "1"}), group(min_resources=None)) == {}
    assert group_changes(group(min_resources={"cpu": "?"}), group(min_resources={"cpu": "1"})) == {
        "spec": {"minResources": {"cpu": "1"}}
    }


def test_the_oldest_pod_stands_for_a_replica_set() -> None:
    pods = [pod("c", created=20), pod("b", created=10), pod("a", created=10)]
    chosen = representative(pods, "ReplicaSet", workload())
    assert chosen is not None
    assert chosen.metadata.name == "a"
    assert representative([], "ReplicaSet", workload()) is None


def test_only_the_newest_revision_stands_for_a_stateful_set() -> None:
    old = pod("db-0", labels={"controller-revision-hash": "r1"}, created=1)
    new = pod("db-1", labels={"controller-revision-hash": "r2"}, created=2)
    assert representative([old, new], "StatefulSet", workload(revision="r2")) is new
    assert representative([old], "StatefulSet", workload(revision="r2")) is None
    assert representative([old, new], "ReplicaSet", workload(revision="r2")) is old


@pytest.mark.parametrize(
    ("deadline", "annotations", "estimate"),
    [
        (600, {}, "600s"),
        (None, {"volcano.sh/running-estimate": "1h"}, "1h"),
        (600, {"volcano.sh/running-estimate": "5m"}, "5m"),
        (None, {}, None),
    ],
)
def test_the_deadline_of_a_batch_job_says_how_long_its_pods_run(
    deadline: int | None, annotations: dict[str, str], estimate: str | None
) -> None:
    controller = OwnerReference(api_version="batch/v1", kind="Job", name="o", uid="o-uid", controller=True)
    spec = WorkloadSpec(active_deadline_seconds=deadline)
    owner = Workload(metadata=ObjectMeta(name="o", namespace="ns", uid="o-uid", annotations=annotations), spec=spec)
    made = plan(pod(owner=controller), owner).group
    assert made.metadata.annotations.get("volcano.sh/running-estimate") == estimate
    untouched = plan(pod(owner=controller), owner, inherit_owner_annotations=False).group
    assert untouched.metadata.annotations == {}


def test_a_bare_pod_may_say_how_long_it_runs() -> None:
    made = plan(pod(annotations={"volcano.sh/running-estimate": "45m"})).group
    assert made.metadata.annotations == {"volcano.sh/running-estimate": "45m"}


def test_a_pod_that_was_given_its_group_gets_no_warning() -> None:
    assert plan_group(as_named(pod(), generated_name(pod())), None, {}, RULES).warnings == ()


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("labels", "scheduling.k8s.io/group-name"),
        ("labels", "scheduling.volcano.sh/group-name"),
        ("annotations", "scheduling.volcano.sh/group-name"),
        ("annotations", "scheduling.k8s.io/groupName"),
        ("annotations", "volcano.sh/pod-group"),
        ("annotations", "scheduling.k8s.io/group_name"),
        ("labels", "pod-group.scheduling.sigs.k8s.io"),
        ("labels", "scheduling.x-k8s.io/pod-group"),
    ],
)
def test_a_pod_that_names_a_group_in_the_wrong_place_gets_a_warning(kind: str, key: str) -> None:
    keys = {key: "train"}
    found = pod(labels=keys) if kind == "labels" else pod(annotations=keys)
    (warning,) = plan_group(found, None, {}, RULES).warnings
    assert warning == (
        f"the {kind.removesuffix('s')} {key} does not name a PodGroup, so the pod is scheduled without train: "
        "write it as the annotation scheduling.k8s.io/group-name"
    )


@pytest.mark.parametrize(
    "key", ["group", "team.example.com/group-name", "volcano.sh/queue-name", "scheduling.volcano.sh/group-min-member"]
)
def test_other_keys_are_no_names_of_groups(key: str) -> None:
    assert plan_group(pod(annotations={key: "1"}, labels={key: "1"}), None, {}, RULES).warnings == ()
