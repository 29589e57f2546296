"""Queues, PodGroups, PriorityClasses and ResourceQuotas as the state reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import NAMESPACE, node, pod, pod_group, priority_class, queue
from tests.unit.state.watched import Watched, with_meta, with_spec, with_status
from volcano_py.api.bounds import GROUP_RESOURCES, GROUP_TASKS
from volcano_py.api.objects import (
    Condition,
    ObjectMeta,
    PriorityClass,
    Queue,
    QueueSpec,
    ResourceList,
    ResourceQuota,
    ResourceQuotaSpec,
)
from volcano_py.api.quantity import LARGEST
from volcano_py.api.reasons import Reason
from volcano_py.state.infos import JobInfo, QueueInfo
from volcano_py.state.table.axis import UNLIMITED

GI = 2**30


def info_of(group: Any, **options: Any) -> JobInfo:
    watched = Watched(group, **options)
    info = watched.snapshot().jobs[0]
    assert info is not None
    return info


def queue_of(seen: Queue) -> tuple[QueueInfo, dict[str, int]]:
    """The queue, and where on the axis its resources are."""
    snapshot = Watched(seen).snapshot()
    names = snapshot.ledger.axis.names
    return snapshot.queues[seen.metadata.name], {name: position for position, name in enumerate(names)}


# -- the algebra of queues ---------------------------------------------------------------------------------------


def test_a_ceiling_that_is_absent_is_unlimited_and_an_entitlement_is_nothing() -> None:
    info, _ = queue_of(queue("q"))
    assert (info.capability == UNLIMITED).all()
    assert not info.deserved.any()
    assert not info.has_deserved.any()
    assert not info.guarantee.any()


def test_a_ceiling_of_zero_is_unlimited_for_cpu_and_memory_only() -> None:
    info, at = queue_of(queue("q", capability={"cpu": "0", "memory": "0", "nvidia.com/gpu": "0"}))
    assert info.capability[at["cpu"]] == info.capability[at["memory"]] == UNLIMITED
    assert info.capability[at["nvidia.com/gpu"]] == 0


def test_an_explicit_entitlement_of_zero_differs_from_none() -> None:
    info, at = queue_of(queue("q", deserved={"cpu": "0", "memory": "1Gi"}))
    assert info.has_deserved[at["cpu"]]
    assert info.has_deserved[at["memory"]]
    assert not info.has_deserved[at["pods"]]
    assert (info.deserved[at["cpu"]], info.deserved[at["memory"]]) == (0, GI)


@pytest.mark.parametrize(("amount", "units"), [("5Pi", 5 * 2**50), ("50P", 50 * 10**15), ("9E", None), ("1e400", None)])
def test_a_ceiling_beyond_any_cluster_never_binds(amount: str, units: int | None) -> None:
    info, at = queue_of(queue("q", capability={"memory": amount}))
    found = int(info.capability[at["memory"]])
    assert found == (UNLIMITED if units is None else units)


def test_what_cannot_be_read_of_a_queue_is_reported_and_counts_as_absent() -> None:
    info, at = queue_of(queue("q", capability={"cpu": "much"}, deserved={"cpu": "-1"}, guarantee={"memory": "1Gi"}))
    assert info.problems == (
        "spec.capability.cpu: 'much' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3); it counts as absent",
        "spec.deserved.cpu: -1 is negative; it counts as absent",
    )
    assert info.capability[at["cpu"]] == UNLIMITED
    assert not info.has_deserved[at["cpu"]]
    assert info.guarantee[at["memory"]] == GI


@pytest.mark.parametrize("weight", [0, -3])
def test_a_weight_below_one_counts_as_one_and_is_reported(weight: int) -> None:
    info, _ = queue_of(queue("q", weight=weight))
    assert info.weight == 1
    assert info.problems == (f"spec.weight: {weight} is below 1; it counts as 1",)


@pytest.mark.parametrize(
    ("state", "is_open"), [("", True), ("Open", True), ("Closed", False), ("Closing", False), ("Unknown", False)]
)
def test_a_queue_without_a_state_counts_as_open(state: str, is_open: bool) -> None:
    info, _ = queue_of(queue("q", state=state))
    assert info.is_open is is_open


def test_a_queue_is_reclaimable_unless_it_says_no() -> None:
    assert [queue_of(queue("q", reclaimable=value))[0].reclaimable for value in (None, True, False)] == [
        True,
        True,
        False,
    ]


def test_a_namesake_of_a_queue_that_is_gone_stays() -> None:
    old, new = queue("q"), with_meta(queue("q", weight=5), uid="new")
    watched = Watched(old)
    watched.put(new)
    watched.delete(old)
    assert watched.snapshot().queues["q"].weight == 5


# -- PodGroups ---------------------------------------------------------------------------------------------------


def test_a_group_that_names_no_queue_belongs_to_the_default_queue() -> None:
    assert info_of(pod_group("g", queue="")).queue == "default"
    assert info_of(pod_group("g", queue=""), default_queue="batch").queue == "batch"


def test_minimum_resources_may_speak_as_a_quota_does() -> None:
    group = pod_group("g", min_resources={"requests.cpu": "2", "limits.cpu": "9", "memory": "1Gi", "count/pods": "3"})
    watched = Watched(group)
    amounts = watched.state.ledger.axis.amounts(watched.snapshot().ledger.jobs.min_resources[0])
    assert amounts == {"cpu": 2000, "memory": GI}


def test_no_minimum_resources_differ_from_empty_ones() -> None:
    watched = Watched(pod_group("g"), pod_group("h", min_resources={}))
    assert watched.job_column("g", "has_min_resources") is False
    assert watched.job_column("h", "has_min_resources") is True


def test_the_minimum_of_a_large_gang_is_not_capped_as_a_single_pod_is() -> None:
    watched = Watched(pod_group("g", min_resources={"memory": "5Pi"}))
    assert watched.state.ledger.axis.amounts(watched.snapshot().ledger.jobs.min_resources[0]) == {"memory": 5 * 2**50}


@pytest.mark.parametrize(
    ("changed", "reason", "message"),
    [
        pytest.param(
            {"min_resources": {"cpu": "much"}},
            Reason.INVALID_POD_GROUP,
            "spec.minResources.cpu: 'much' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)",
            id="unreadable",
        ),
        pytest.param(
            {"min_resources": {"cpu": "-4"}},
            Reason.INVALID_POD_GROUP,
            "spec.minResources.cpu: -4 is negative; write 0 or more",
            id="a negative amount",
        ),
        pytest.param(
            {"min_member": -1},
            Reason.INVALID_POD_GROUP,
            "spec.minMember is -1: write 0 or more",
            id="a negative minimum",
        ),
        pytest.param(
            {"min_task_member": {"ps": 1, "worker": -1}},
            Reason.INVALID_POD_GROUP,
            "spec.minTaskMember.worker is -1: write 0 or more",
            id="a negative minimum of a task",
        ),
        pytest.param(
            {"min_task_member": {f"t{number}": 1 for number in range(GROUP_TASKS.most + 1)}},
            Reason.INVALID_POD_GROUP,
            "spec.minTaskMember has 1001 entries: at most 1000 are evaluated; leave some out",
            id="too many tasks",
        ),
        pytest.param(
            {"min_resources": {f"x/r{number}": "1" for number in range(GROUP_RESOURCES.most + 1)}},
            Reason.INVALID_POD_GROUP,
            "spec.minResources has 1001 entries: at most 1000 are evaluated; leave some out",
            id="too many resources",
        ),
        pytest.param(
            {"network_topology": {"mode": "firm"}},
            Reason.INVALID_POD_GROUP,
            "spec.networkTopology.mode is 'firm': use hard or soft",
            id="topology",
        ),
    ],
)
def test_a_group_that_cannot_be_scheduled_as_it_stands_says_why(
    changed: dict[str, Any], reason: Reason, message: str
) -> None:
    problem = info_of(with_spec(pod_group("g"), **changed)).problem
    assert problem is not None
    assert (problem.reason, problem.message) == (reason, message)


def test_soft_topology_is_a_preference() -> None:
    assert info_of(with_spec(pod_group("g"), network_topology={"mode": "soft"})).problem is None


def test_a_group_created_again_is_as_young_as_it_is() -> None:
    watched = Watched(pod_group("g", age=1000))
    before = watched.job_column("g", "created")
    watched.put(with_meta(pod_group("g"), uid="new"))
    assert watched.job_column("g", "created") == before + 1000


def test_a_namesake_of_a_group_that_is_gone_stays() -> None:
    old, new = pod_group("g"), with_meta(pod_group("g", min_member=5), uid="new")
    watched = Watched(old)
    watched.put(new)
    watched.delete(old)
    assert watched.job_column("g", "min_member") == 5


def test_a_group_that_goes_leaves_its_pods_a_job_without_one() -> None:
    watched = Watched(pod_group("g", min_member=3, phase="Running"), pod("a", group="g", cpu="1"))
    watched.delete(pod_group("g"))
    assert watched.job_column("g", "known") is False
    assert watched.snapshot().jobs[watched.job("g")] is None
    watched.put(pod_group("g", min_member=1, phase="Pending"))
    assert (watched.job_column("g", "known"), watched.job_column("g", "min_member")) == (True, 1)


# -- priorities --------------------------------------------------------------------------------------------------


def default_class(name: str, value: int) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name, uid=name), value=value, global_default=True)


@pytest.mark.parametrize(
    ("classes", "named", "priority"),
    [
        pytest.param([priority_class("high", 9)], "high", 9, id="named"),
        pytest.param([priority_class("high", 9)], "", 0, id="none named, no default"),
        pytest.param([priority_class("high", 9), default_class("d", 4)], "", 4, id="none named, default"),
        pytest.param([default_class("d", 4)], "unknown", 4, id="unknown name, default"),
        pytest.param([default_class("a", 7), default_class("b", 4)], "", 4, id="two defaults: the lower, as admission"),
        pytest.param([default_class("b", 4), default_class("a", 7)], "", 4, id="in whatever order they came"),
    ],
)
def test_the_priority_of_a_job_is_its_classs_value(classes: list[PriorityClass], named: str, priority: int) -> None:
    watched = Watched(pod_group("g", priority_class=named), *classes)
    assert watched.job_column("g", "priority") == priority
    later = Watched(*classes, pod_group("g", priority_class=named))
    assert later.job_column("g", "priority") == priority


def test_priorities_follow_their_class() -> None:
    watched = Watched(priority_class("high", 9), pod_group("g", priority_class="high"))
    watched.put(priority_class("high", 3))
    assert watched.job_column("g", "priority") == 3
    watched.delete(priority_class("high", 3))
    assert watched.job_column("g", "priority") == 0


def test_the_role_is_the_annotation_before_the_label() -> None:
    watched = Watched(
        pod("a", group="g", role="worker", labels={"volcano.sh/task-spec": "driver"}),
        pod("b", group="g", labels={"volcano.sh/task-spec": "driver"}),
        pod("c", group="g"),
    )
    roles = {info.ref.name: info.role for info in watched.snapshot().tasks if info is not None}
    assert roles == {"a": "worker", "b": "driver", "c": ""}
    snapshot = watched.snapshot()
    assert snapshot.roles[snapshot.ledger.tasks.role[watched.row("c")]] == ""


# -- nodes -------------------------------------------------------------------------------------------------------


def test_oversubscribed_amounts_add_to_what_a_node_offers() -> None:
    offers = {"volcano.sh/oversubscription-cpu": "1500", "volcano.sh/oversubscription-memory": "1024"}
    plain = with_meta(node("n", cpu="2", memory="1Ki"), annotations=offers)
    watched = Watched(plain)
    assert watched.on_node("n", "allocatable") == {"cpu": 2000, "memory": 1024}, "the label switches it on"
    watched.put(with_meta(plain, labels={"volcano.sh/oversubscription": "true"}))
    assert watched.on_node("n", "allocatable") == {"cpu": 3500, "memory": 2048}


@pytest.mark.parametrize("amount", ["1e30", "9223372036854775807"])
def test_an_oversubscribed_amount_beyond_any_node_is_capped(amount: str) -> None:
    marks = {"volcano.sh/oversubscription-memory": amount}
    plain = node("n1", cpu="4", labels={"zone": "a"})
    watched = Watched(with_meta(plain, labels={"volcano.sh/oversubscription": "true"}, annotations=marks))
    offered = watched.on_node("n1", "allocatable")
    assert offered["cpu"] == 4000
    assert LARGEST <= offered["memory"] <= 2 * LARGEST


def test_what_a_node_offers_is_rounded_down_and_what_cannot_be_read_is_left_out() -> None:
    watched = Watched(with_status(node("n"), allocatable={"cpu": "1.9999", "memory": "junk", "nvidia.com/gpu": "-1"}))
    assert watched.on_node("n", "allocatable") == {"cpu": 1999}


def test_a_namesake_of_a_node_that_is_gone_stays() -> None:
    old, new = node("n"), with_meta(node("n", cpu="3"), uid="new")
    watched = Watched(old)
    watched.put(new)
    watched.delete(old)
    assert watched.on_node("n", "allocatable")["cpu"] == 3000


# -- namespace weights -------------------------------------------------------------------------------------------


def quota(name: str, weight: str | int | None, namespace: str = NAMESPACE) -> ResourceQuota:
    hard: ResourceList = {} if weight is None else {"volcano.sh/namespace.weight": weight}
    return ResourceQuota(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}-{name}"),
        spec=ResourceQuotaSpec(hard=hard),
    )


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param([5], 5, id="one"),
        pytest.param(["2", "7", "3"], 7, id="the highest of three"),
        pytest.param(["0"], None, id="zero"),
        pytest.param(["-3"], None, id="negative"),
        pytest.param(["0", "4"], 4, id="zero and four"),
        pytest.param(["500m"], None, id="a fraction"),
        pytest.param(["abc"], None, id="no number"),
        pytest.param(["NaN", "Inf", "-Inf"], None, id="not finite"),
        pytest.param(["1e400"], 2**63 - 1, id="too large for a float"),
        pytest.param([None, "2"], 2, id="a quota without a weight"),
    ],
)
def test_the_weight_of_a_namespace(weights: list[str | int | None], expected: int | None) -> None:
    watched = Watched(*[quota(f"q{index}", weight) for index, weight in enumerate(weights)])
    assert watched.snapshot().namespace_weights.get(NAMESPACE) == expected


def test_a_weight_goes_with_its_quota() -> None:
    watched = Watched(quota("a", 2), quota("b", 7), quota("c", 3), quota("d", 9, namespace="other"))
    watched.delete(quota("b", 7))
    assert watched.snapshot().namespace_weights == {NAMESPACE: 3, "other": 9}


def test_replacing_lists_forgets_quotas_and_priority_classes() -> None:
    watched = Watched(quota("a", 2), quota("b", 7), priority_class("high", 9), pod_group("g", priority_class="high"))
    watched.state.replace("ResourceQuota", [quota("a", 2)])
    watched.state.replace("PriorityClass", [])
    assert watched.snapshot().namespace_weights == {NAMESPACE: 2}
    assert watched.job_column("g", "priority") == 0


def test_the_known_condition_of_a_pod_is_the_one_that_says_it_waits() -> None:
    reported = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no room")
    waits = with_status(pod("a", group="g"), conditions=[Condition(type="Ready", status="False"), reported])
    watched = Watched(waits)
    uid = waits.metadata.uid
    assert watched.state.pod_condition(uid, "PodScheduled") == reported
    assert watched.state.pod_condition(uid, "Ready") is None
    assert watched.state.pod_condition("unknown", "PodScheduled") is None
    watched.put(with_status(waits, conditions=[Condition(type="PodScheduled", status="True")]))
    assert watched.state.pod_condition(uid, "PodScheduled") is None


def test_queue_specs_keep_what_plugins_ask_for() -> None:
    seen = Queue(
        metadata=ObjectMeta(name="q", uid="q", labels={"a": "b"}, annotations={"volcano.sh/hierarchy": "root/q"}),
        spec=QueueSpec(parent="p", priority=3, affinity={"nodeGroupAffinity": {}}),
    )
    info, _ = queue_of(seen)
    assert (info.parent, info.priority, info.labels, info.annotations, info.spec_affinity) == (
        "p",
        3,
        {"a": "b"},
        {"volcano.sh/hierarchy": "root/q"},
        {"nodeGroupAffinity": {}},
    )
