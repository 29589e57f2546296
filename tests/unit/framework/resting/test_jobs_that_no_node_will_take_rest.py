"""A job that no node will take costs later cycles nothing until something about it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.sessions import NOW, gang, node, pod, pod_group, queue
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.state.watched import with_meta, with_spec, with_status
from volcano_py.api.effects import Bind
from volcano_py.api.objects import (
    ApiObject,
    ContainerImage,
    LabelSelector,
    Node,
    Pod,
    Toleration,
    TopologySpreadConstraint,
)
from volcano_py.api.reasons import Reason
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session


def wanting(name: str, **selector: str) -> list[ApiObject]:
    return gang(name, cpu="1", node_selector=selector or {"disk": name})


def crowd() -> Cluster:
    return Cluster(node("n1", cpu="4"), *wanting("a"), *wanting("b"), *gang("huge", cpu="5"))


def test_a_settled_crowd_is_not_looked_at_and_reported_all_the_same() -> None:
    cluster = crowd()
    first = cluster.cycle()
    assert Watcher.jobs == {"a", "b", "huge"}
    cluster.settle()
    assert cluster.looked_at() == set()
    again = cluster.cycle()
    assert again.pending == first.pending
    assert [(job.name, job.reason) for job in again.pending] == [
        ("team/a", Reason.NODES_REFUSE),
        ("team/b", Reason.NODES_REFUSE),
        ("team/huge", Reason.NEVER_FITS),
    ]
    assert again.unschedulable_tasks == 3
    assert cluster.sent == []


def admits_nothing(_session: Session, job: Job) -> None:
    raise AssertionError(f"{job.key} is admitted again")


def test_one_whose_podgroup_is_not_stored_yet_is_admitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its phase is nowhere but in the cycle; there may be thousands until the controller has written them."""
    expected = with_meta(pod_group("a", min_resources={"cpu": "1"}, phase=""), uid="")
    cluster = Cluster(node("n1", cpu="4"), queue("default"), expected, *wanting("a")[1:])
    cluster.settle()
    monkeypatch.setattr(Session, "enqueue", admits_nothing)
    report = cluster.cycle()
    assert report.action_errors == {}
    assert [(job.name, job.phase) for job in report.pending] == [("team/a", "Inqueue")]


def test_work_that_comes_is_placed_without_a_look_at_the_crowd() -> None:
    cluster = crowd()
    cluster.settle()
    cluster.put(*gang("new", cpu="1"))
    report = cluster.cycle()
    assert (report.binds, len(report.predicate_seconds), Watcher.jobs) == (1, 1, {"new"})


@pytest.mark.parametrize(
    "edit",
    [
        lambda pod: with_meta(pod, labels={"edit": "1"}),
        lambda pod: with_spec(pod, priority=7),
        lambda pod: with_spec(pod, tolerations=[Toleration(key="x", operator="Exists")]),
        lambda pod: with_status(pod, conditions=[]),
        lambda pod: with_meta(pod, deletion_timestamp=NOW),
    ],
)
def test_an_edit_of_a_pod_wakes_its_own_job_alone(edit: Callable[[Pod], Pod]) -> None:
    cluster = crowd()
    cluster.settle()
    cluster.put(edit(cluster.pod("a-0")))
    assert cluster.looked_at() <= {"a"}
    assert "team/b" in {job.name for job in cluster.cycle().pending}


def test_the_echo_of_a_status_starts_no_cycle() -> None:
    cluster = crowd()
    cluster.settle()
    cluster.put(replace(cluster.pod("a-0")))
    assert cluster.looked_at() == set()


def test_one_pod_more_wakes_its_job() -> None:
    cluster = crowd()
    cluster.settle()
    cluster.put(pod("a-1", group="a", cpu="1"))
    assert cluster.looked_at() == {"a"}
    assert [effect.pod.name for effect in cluster.sent if isinstance(effect, Bind)] == ["a-1"]


def test_a_node_that_takes_one_of_them_wakes_all_and_binds_it() -> None:
    cluster = crowd()
    cluster.settle()
    cluster.put(node("n2", cpu="4", labels={"disk": "a"}))
    assert cluster.looked_at() == {"a", "b", "huge"}
    assert [(effect.pod.name, effect.node) for effect in cluster.sent if isinstance(effect, Bind)] == [("a-0", "n2")]


def over_racks(name: str, **fields: Any) -> list[ApiObject]:
    selector = LabelSelector(match_labels={"own": name})
    constraint = TopologySpreadConstraint(max_skew=1, topology_key="rack", label_selector=selector, **fields)
    return gang(name, cpu="1", labels={"own": name}, spread=[constraint])


def test_pods_to_be_spread_over_a_label_that_no_node_has_rest_until_one_has_it() -> None:
    cluster = Cluster(node("n1", cpu="4"), *over_racks("a"), *over_racks("b"))
    first = cluster.settle()
    assert "need label rack" in first.pending[0].message
    assert cluster.looked_at() == set()
    assert cluster.cycle().pending == first.pending
    cluster.put(node("n2", cpu="4", labels={"rack": "r1"}))
    cluster.cycle()
    bound = sorted((effect.pod.name, effect.node) for effect in cluster.sent if isinstance(effect, Bind))
    assert bound == [("a-0", "n2"), ("b-0", "n2")]


def test_pods_that_only_a_crowd_keeps_out_are_looked_at_again_when_it_is_gone() -> None:
    crowd = pod("x", labels={"own": "a"}, on="n1")
    cluster = Cluster(node("n1", cpu="4", labels={"rack": "r1"}), *over_racks("a", min_domains=2), crowd)
    cluster.settle()
    assert cluster.looked_at() == set()
    cluster.state.delete("Pod", crowd)
    assert cluster.looked_at() == {"a"}


def test_images_that_nodes_fetch_and_nodes_that_do_not_exist_start_no_cycle() -> None:
    cluster = crowd()
    cluster.settle()
    known = cluster.objects["Node", "n1"]
    assert isinstance(known, Node)
    cluster.put(with_status(known, images=[ContainerImage(names=["app:1"], size_bytes=1)]))
    assert cluster.looked_at() == set()
    cluster.put(pod("stray", on="no-such-node", scheduler="default-scheduler"))
    assert cluster.looked_at() == set()


def test_a_queue_that_changes_wakes_them_and_what_it_holds_does_not() -> None:
    cluster = crowd()
    cluster.settle()
    cluster.put(with_status(queue("default"), allocated={"cpu": "3"}))
    assert cluster.looked_at() == set()
    cluster.put(queue("default", weight=7))
    assert cluster.looked_at() == {"a", "b", "huge"}


def test_gates_and_pods_that_cannot_be_read_rest_too() -> None:
    cluster = Cluster(
        node("n1", cpu="4"),
        *gang("gated", cpu="1", gates=["wait"]),
        *gang("unreadable", cpu="x"),
        *gang("light", node_selector={"disk": "none"}),
        pod_group("short", min_member=2),
        pod("short-0", group="short", cpu="1"),
    )
    cluster.settle()
    assert cluster.looked_at() == set()
    assert [job.reason for job in cluster.cycle().pending] == [
        Reason.SCHEDULING_GATED,
        Reason.INVALID_POD,
        Reason.NODES_REFUSE,
        Reason.NOT_ENOUGH_TASKS,
    ]


def test_a_gang_of_which_some_would_fit_is_looked_at_when_any_pod_moves() -> None:
    cluster = Cluster(
        node("n1", cpu="4"),
        pod_group("mixed", min_member=2),
        pod("mixed-0", group="mixed", cpu="1"),
        pod("mixed-1", group="mixed", cpu="1", node_selector={"disk": "none"}),
        owner="capacity",
    )
    cluster.settle()
    assert cluster.looked_at() == set()
    cluster.put(pod("stranger", on="n1", scheduler="default-scheduler"))
    assert cluster.looked_at() == {"mixed"}


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_no_victims_are_sought_for_what_no_node_will_take(action: str) -> None:
    cluster = Cluster(
        node("n1", cpu="4"),
        queue("other", reclaimable=True),
        *gang(
            "runs",
            pods=4,
            min_member=1,
            cpu="1",
            running_on=["n1"] * 4,
            queue="other" if action == "reclaim" else "default",
        ),
        *wanting("a"),
        actions=f"enqueue, {action}, allocate, backfill",
    )
    report = cluster.settle()
    assert report.evictions == 0
    assert cluster.looked_at() & {"a"} == set()


def test_next_to_a_plugin_without_predicate_for_good_any_change_wakes_all_jobs() -> None:
    cluster = Cluster(node("n1", cpu="4"), *wanting("a"), more=", {name: talker}")
    cluster.settle()
    assert cluster.looked_at_after_any_change() == {"a"}


def test_nothing_is_kept_of_a_cycle_in_which_a_plugin_fails() -> None:
    cluster = Cluster(node("n1", cpu="4"), *wanting("a"), more=", {name: faulty}")
    report = cluster.settle()
    assert report.plugin_errors["faulty"] >= 1
    assert cluster.looked_at() == {"a"}


def test_usage_of_nodes_does_not_enter_what_is_reported_of_a_pod_too_large_for_them() -> None:
    cluster = Cluster(
        node("n1", cpu="4", memory="8Gi"),
        *gang("runs", cpu="4", running_on=["n1"]),
        *gang("large", cpu="1", memory="16Gi"),
    )
    [reported] = cluster.settle().pending
    assert reported.message.startswith("NeverFits: 0/1 nodes are unavailable: 1 Insufficient memory.")
