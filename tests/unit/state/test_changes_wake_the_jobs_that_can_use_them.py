"""`on_change`: decisive when a decision may come out differently, quiet when only statuses move, silent otherwise."""

from __future__ import annotations

import pytest

from tests.support.placement.cards import asks, gpu_pod
from tests.support.placement.neighbours import near, term, with_selector
from tests.support.sessions import gang, node, pod, pod_group, priority_class, queue
from tests.unit.state.watched import Watched, as_status, deleted, on, with_meta, with_spec, with_status
from volcano_py.api.names import COOLDOWN_TIME, PREEMPTABLE, REVOCABLE_ZONE
from volcano_py.api.objects import (
    Condition,
    ContainerImage,
    LabelSelector,
    Namespace,
    ObjectMeta,
    ResourceQuota,
    ResourceQuotaSpec,
    Taint,
)
from volcano_py.state.table.change import Change

DECISIVE, INCOMPLETE, QUIET = Change.DECISION, Change.INCOMPLETE, Change.STATUS
FOREIGN = pod("f", cpu="1", scheduler="default-scheduler")


def test_sums_that_are_put_right_are_decisive() -> None:
    watched = Watched(node("n1", cpu="4"), pod("a", cpu="1", on="n1"))
    assert watched.state.audit() == 0
    assert watched.reported() == []
    watched.state.ledger.nodes.change(0).used[0, 0] += 5
    assert watched.state.audit() == 5
    assert watched.reported() == [Change.DECISION]
    assert watched.state.drift() == 0


def test_a_new_pod_of_ours_is_decisive() -> None:
    watched = Watched(pod_group("g"))
    watched.put(pod("a", group="g", cpu="1"))
    assert watched.reported() == [DECISIVE]


def test_a_pod_of_a_gang_that_lacks_others_is_decisive_where_such_gangs_start() -> None:
    """Pods that failed or terminate are missing; those that run or have succeeded are not."""
    old = [pod(f"old-{phase}", group="g", on="n1", phase=phase) for phase in ("Running", "Succeeded", "Failed")]
    watched = Watched(node("n1"), pod_group("g", min_member=5), *old, deleted(pod("old", group="g", on="n1")))
    for number, meaning in enumerate((INCOMPLETE, INCOMPLETE, DECISIVE, DECISIVE)):
        watched.put(pod(f"new-{number}", group="g"))
        assert watched.reported() == [meaning]


def test_so_is_one_that_terms_of_other_pods_select() -> None:
    """Until it has a place, nothing can follow it."""
    follows = pod("a", group="other", affinity=near(term(app="db")))
    watched = Watched(pod_group("other"), follows, pod_group("g", min_member=2))
    watched.put(pod("b", group="g", labels={"app": "db"}))
    assert watched.reported() == [INCOMPLETE]


def test_a_pod_whose_group_is_not_there_yet_is_decisive() -> None:
    watched = Watched()
    watched.put(pod("a", group="g"))
    assert watched.reported() == [DECISIVE]


def test_pods_that_complete_a_gang_together_are_decisive() -> None:
    watched = Watched(pod_group("g", min_member=9))
    watched.state.upsert_all("Pod", [pod(f"g-{number}", group="g") for number in range(9)])
    assert watched.reported() == [DECISIVE]


def test_the_same_pod_again_is_no_change() -> None:
    watched = Watched(pod_group("g"), pod("a", group="g", cpu="1"))
    watched.put(pod("a", group="g", cpu="1"))
    watched.put(as_status(pod("a", group="g", cpu="1"), "Pending", conditions=[Condition(type="Ready")]))
    assert watched.reported() == []


def test_pods_of_others_that_come_and_start_unblock_nothing() -> None:
    watched = Watched(node("n1"))
    watched.put(FOREIGN, on(FOREIGN, "n1"), on(FOREIGN, "n1", "Running"))
    assert watched.reported() == []


def test_pods_of_others_may_be_the_company_that_is_waited_for() -> None:
    waits = pod("a", group="g", affinity=near(term(app="db")))
    db, web = (pod(name, scheduler="default-scheduler", labels={"app": name}) for name in ("db", "web"))
    watched = Watched(node("n1"), pod_group("g"), waits)
    watched.snapshot()
    watched.put(on(web, "n1"))
    assert watched.reported() == []
    watched.put(on(db, "n1"))
    assert watched.reported() == [DECISIVE]
    watched.put(on(db, "n1", "Running"))
    assert watched.reported() == []


def test_pods_of_others_may_use_the_devices_for_which_cores_are_kept() -> None:
    """The proportional rule keeps cores for idle devices: once these are in use, others may have the cores."""
    watched = Watched(node("n1", devices={"nvidia.com/gpu": "1"}))
    watched.put(pod("f", cpu="1", scheduler="default-scheduler", devices={"nvidia.com/gpu": "1"}, on="n1"))
    assert watched.reported() == [DECISIVE]


def test_labels_matter_to_affinity_to_budgets_and_to_plugins() -> None:
    runs = pod("f", scheduler="default-scheduler", on="n1")
    watched = Watched(node("n1"), pod_group("g"), pod("a", group="g", affinity=near(term(app="db"))), runs)
    watched.put(with_meta(runs, labels={"app": "db"}))
    assert watched.reported() == [DECISIVE]
    watched.put(with_meta(runs, labels={"app": "db"}))
    assert watched.reported() == []


def test_labels_of_a_waiting_pod_matter_to_terms_that_select_by_them() -> None:
    waits = pod("a", group="g", cpu="1", labels={"app": "web"})
    watched = Watched(node("n1"), pod_group("g"), waits)
    watched.put(with_meta(waits, labels={"app": "db", "edit": "1"}))
    assert watched.reported() == []
    watched.put(pod("b", group="g", cpu="1", affinity=near(term(app="db"))))
    assert watched.reported() == [DECISIVE]
    watched.snapshot()
    watched.put(with_meta(waits, labels={"app": "db", "edit": "2"}))
    assert watched.reported() == []
    watched.put(with_meta(waits, labels={"app": "web"}))
    assert watched.reported() == [DECISIVE]


def test_labels_of_a_pod_that_waits_for_a_part_of_a_gpu_matter_to_exclusive_rules() -> None:
    waits = gpu_pod("a", asks(1, 1), labels={"app": "train"})
    watched = Watched(node("n1"), pod_group("g"), waits)
    watched.put(with_meta(waits, labels={}))
    assert watched.reported() == [DECISIVE]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, {REVOCABLE_ZONE: "*"}, id="what tdm advises"),
        pytest.param({}, {PREEMPTABLE: "true"}, id="it says that it may be evicted"),
        pytest.param({COOLDOWN_TIME: "10h"}, {}, id="its cooldown is over"),
    ],
)
def test_annotations_matter_that_plugins_read(before: dict[str, str], after: dict[str, str]) -> None:
    watched = Watched(node("n1"), pod_group("g"), pod("a", group="g", cpu="1", annotations=before))
    watched.put(pod("a", group="g", cpu="1", annotations=after))
    assert watched.reported() == [DECISIVE]


def test_labels_of_namespaces_matter_where_terms_choose_by_them() -> None:
    warm = with_selector(term(app="db"), namespace_selector=LabelSelector(match_labels={"hue": "warm"}))
    waits = pod("a", group="g", affinity=near(warm))
    red, blue = (Namespace(metadata=ObjectMeta(name=name, uid=name)) for name in ("red", "blue"))
    there = pod("f", namespace="red", labels={"app": "db"}, on="n1")
    watched = Watched(node("n1"), pod_group("g"), waits, red, blue, there)
    watched.put(with_meta(blue, labels={"hue": "warm"}))
    assert watched.reported() == []
    watched.put(with_meta(red, labels={"hue": "warm"}))
    assert watched.reported() == [DECISIVE]
    watched.delete(red)
    assert watched.reported() == [DECISIVE]


def test_pods_of_others_that_leave_make_room() -> None:
    running = on(FOREIGN, "n1", "Running")
    watched = Watched(node("n1"), running)
    watched.put(deleted(running))
    assert watched.reported() == [DECISIVE]
    watched.delete(running)
    assert watched.reported() == [DECISIVE]


def test_a_pod_that_starts_moves_statuses_only() -> None:
    waits = pod("a", group="g", cpu="1")
    watched = Watched(node("n1"), pod_group("g"), on(waits, "n1"))
    watched.put(on(waits, "n1", "Running"))
    assert watched.reported() == [QUIET]


def test_a_pod_that_finishes_makes_room() -> None:
    runs = pod("a", group="g", cpu="1", on="n1")
    watched = Watched(node("n1"), pod_group("g"), runs)
    watched.put(as_status(runs, "Succeeded"))
    assert watched.reported() == [DECISIVE]


def test_a_finished_pod_that_is_cleaned_away_moves_statuses_only() -> None:
    done = pod("a", group="g", cpu="1", on="n1", phase="Succeeded")
    watched = Watched(node("n1"), pod_group("g"), done)
    watched.delete(done)
    assert watched.reported() == [QUIET]


def test_what_decides_about_a_pod_is_decisive() -> None:
    gated = pod("a", group="g", cpu="1", gates=["wait"])
    watched = Watched(pod_group("g", min_member=1), gated)
    for changed in (
        pod("a", group="g", cpu="1"),
        pod("a", group="g", cpu="1", priority=7),
        pod("a", group="g", cpu="2", priority=7),
        pod("a", group="g", cpu="2", priority=7, role="worker"),
        pod("a", group="other", cpu="2", priority=7, role="worker"),
    ):
        watched.put(changed)
        assert watched.reported() == [DECISIVE]


def test_a_nodes_heartbeat_is_no_change() -> None:
    watched = Watched(node("n1"))
    version = watched.snapshot().nodes_version
    watched.put(with_meta(node("n1"), resource_version="2", annotations={"beat": "2"}))
    assert watched.reported() == []
    assert watched.snapshot().nodes_version == version


def test_a_pulled_image_moves_scores_but_is_no_reason_to_decide() -> None:
    watched = Watched(node("n1"))
    version = watched.snapshot().nodes_version
    plain = node("n1")
    image = ContainerImage(names=["nginx"], size_bytes=10)
    watched.put(with_status(plain, images=[image]))
    assert watched.reported() == []
    assert watched.snapshot().nodes_version != version
    assert watched.snapshot().nodes[0].images == {"nginx": 10}


def test_a_node_that_gets_room_labels_or_loses_a_taint_is_decisive() -> None:
    watched = Watched(node("n1", taints=[Taint(key="k", effect="NoSchedule")]))
    for changed in (node("n1"), node("n1", cpu="9"), node("n1", cpu="9", labels={"zone": "a"})):
        version = watched.snapshot().nodes_version
        watched.put(changed)
        assert watched.reported() == [DECISIVE]
        assert watched.snapshot().nodes_version != version


def test_the_echo_of_our_own_status_is_no_change() -> None:
    watched = Watched(pod_group("g", phase="Inqueue"))
    reported = Condition(type="Unschedulable", status="True")
    watched.put(with_status(pod_group("g", phase="Inqueue"), conditions=[reported]))
    assert watched.reported() == []
    info = watched.snapshot().jobs[watched.job("g")]
    assert info is not None
    assert [condition.type for condition in info.conditions] == ["Unschedulable"]


def test_a_group_whose_label_spares_its_pods_from_now_on_is_decisive() -> None:
    group = pod_group("g")
    watched = Watched(group)
    watched.put(with_meta(group, labels={PREEMPTABLE: "false"}))
    assert watched.reported() == [DECISIVE]
    assert watched.job_column("g", "preemptable") is False
    watched.put(group)
    assert watched.reported() == [DECISIVE]
    assert watched.job_column("g", "preemptable") is True


def test_a_group_with_another_minimum_is_decisive() -> None:
    watched = Watched(pod_group("g", min_member=1))
    watched.put(pod_group("g", min_member=2))
    assert watched.reported() == [DECISIVE]


def test_an_edited_spec_of_a_queue_is_decisive_and_its_counts_are_not() -> None:
    watched = Watched(queue("q"))
    watched.put(with_status(queue("q"), running=3))
    assert watched.reported() == []
    watched.put(queue("q", state="Closed"))
    assert watched.reported() == [DECISIVE]
    watched.put(queue("q", state="Closed", weight=2))
    assert watched.reported() == [DECISIVE]


def test_a_priority_class_is_decisive_when_its_value_moves() -> None:
    watched = Watched(priority_class("high", 5))
    watched.put(with_meta(priority_class("high", 5), labels={"a": "b"}))
    assert watched.reported() == []
    watched.put(priority_class("high", 6))
    assert watched.reported() == [DECISIVE]


def test_a_quotas_usage_is_no_change() -> None:
    plain = ResourceQuota(metadata=pod("q").metadata, spec=ResourceQuotaSpec(hard={"cpu": "4"}))
    watched = Watched(plain)
    watched.put(with_status(plain, used={"cpu": "2"}))
    assert watched.reported() == []
    watched.put(with_spec(plain, hard={"cpu": "5"}))
    assert watched.reported() == [DECISIVE]


def test_what_goes_is_decisive() -> None:
    objects = [node("n1"), queue("q"), priority_class("high", 5), *gang("g", cpu="1")]
    watched = Watched(objects)
    for each in reversed(objects):
        watched.delete(each)
        assert watched.reported() == [DECISIVE], each
        watched.delete(each)
        assert watched.reported() == [], "it was gone already"
