"""From objects, as watches bring them, to the rows that are shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.unit.cli.up_objects import GIB, NO_GROUP, WHY, node, pod, pod_group, queue
from volcano_py.api.objects import ApiObject
from volcano_py.cli.live.mirror import EVENT, WATCHED, ClusterEvent, Mirror
from volcano_py.cli.live.overview import GroupRow, LoneRow, MissingQueueRow, Overview


def seen(*objects: ApiObject) -> Overview:
    """What a mirror shows after these objects."""
    mirror = Mirror()
    for obj in objects:
        mirror.upsert(_kind(obj), obj)
    return mirror.overview()


def _kind(obj: ApiObject) -> str:
    return next(kind.name for kind in WATCHED if isinstance(obj, kind.type))


def event(name: str, *, minute: int = 0, about: str = "Pod", **more: Any) -> ClusterEvent:
    body = {
        "metadata": {"name": name, "namespace": "ml"},
        "involvedObject": {"kind": about, "name": "a"},
        "lastTimestamp": f"2026-01-01T00:{minute:02}:00Z",
        **more,
    }
    return msgspec.convert(body, ClusterEvent)


def only_group(*objects: ApiObject) -> GroupRow:
    (group,) = seen(*objects).groups
    return group


def test_a_pod_group_counts_its_pods_by_how_far_they_are() -> None:
    group = only_group(
        pod_group("train", phase="Running", minMember=2, queue="team-a"),
        pod("a", group="train", node="n", phase="Running"),
        pod("b", group="train", node="n", phase="Pending"),
        pod("c", group="train", node="n", phase="Succeeded"),
        pod("d", group="train"),
        pod("stranger", group="other", node="n", phase="Running"),
        pod("loner"),
    )
    assert (group.name, group.queue, group.minimum) == ("ml/train", "team-a", 2)
    assert (group.pods, group.bound, group.running, group.finished) == (4, 3, 1, 1)


def test_a_pod_that_is_being_deleted_does_not_run_any_more() -> None:
    leaving = pod("a", group="train", node="n", phase="Running", deletionTimestamp="2026-01-01T00:00:00Z")
    assert only_group(pod_group("train"), leaving).running == 0
    assert seen(leaving).pods[0].phase == "Terminating"


def test_a_pod_group_without_phase_or_queue_is_pending_in_the_default_queue() -> None:
    group = only_group(pod_group("train"))
    assert (group.phase, group.queue) == ("Pending", "default")


def test_a_generated_pod_group_is_known_by_its_owner() -> None:
    group = only_group(pod_group("podgroup-0d3", owner=("ReplicaSet", "web-5f")))
    assert (group.key, group.name, group.owner) == ("ml/podgroup-0d3", "ml/web-5f", "ReplicaSet")


def test_the_pod_group_of_a_volcano_job_is_known_by_its_job() -> None:
    group = only_group(pod_group("train-0d3", owner=("Job", "train", "batch.volcano.sh/v1alpha1")))
    assert (group.key, group.name, group.owner) == ("ml/train-0d3", "ml/train", "Job")


def test_a_pod_group_that_merely_has_an_owner_keeps_its_name() -> None:
    group = only_group(pod_group("train", owner=("Job", "job-1")))
    assert (group.name, group.owner) == ("ml/train", "")


@pytest.mark.parametrize("phase", ["Pending", "Inqueue", "Unknown"])
def test_a_waiting_pod_group_says_why_by_its_condition(phase: str) -> None:
    assert only_group(pod_group("train", phase=phase, why=WHY)).why == WHY


def test_a_running_pod_group_says_nothing_of_former_times() -> None:
    assert only_group(pod_group("train", phase="Running", why=WHY)).why == ""


def test_a_running_pod_group_says_why_its_other_pods_wait() -> None:
    group = only_group(
        pod_group("web", phase="Running"),
        pod("a", group="web", node="n", phase="Running", waits="long ago"),
        pod("b", group="web", waits="no node fits"),
    )
    assert group.why == "no node fits"


def test_pods_whose_pod_group_does_not_exist_are_found_with_their_message() -> None:
    rows = seen(
        pod_group("there"),
        pod("member", group="there", waits="no node"),
        pod("b", group="missing", waits=NO_GROUP),
        pod("a", group="missing", waits=NO_GROUP),
        pod("c", group="missing", waits="something else"),
        pod("done", group="missing", phase="Succeeded"),
        pod("bound", group="missing", node="n"),
        pod("leaving", group="missing", deletionTimestamp="2026-01-01T00:00:00Z"),
        pod("foreign", group="missing", scheduler="default-scheduler"),
    ).alone
    assert rows == (LoneRow("ml/a", 1, NO_GROUP), LoneRow("ml/c", 0, "something else"))


def test_pods_that_wait_for_the_pod_group_that_is_made_for_them_are_found() -> None:
    web = {"kind": "ReplicaSet", "name": "web-5f", "uid": "0d3", "controller": True}
    bare, *replicas = pod("bare"), pod("web-0", ownerReferences=[web]), pod("web-1", ownerReferences=[web])
    assert seen(bare, *replicas).alone == (LoneRow("ml/bare", 0, ""), LoneRow("ml/web-0", 1, ""))
    overview = seen(bare, *replicas, pod_group("podgroup-0d3", owner=("ReplicaSet", "web-5f")))
    assert overview.alone == (LoneRow("ml/bare", 0, ""),)
    assert [(group.name, group.pods, group.waiting) for group in overview.groups] == [("ml/web-5f", 2, 2)]


def test_a_gated_pod_names_its_gates() -> None:
    (row,) = seen(pod("a", gates=["x/y"], waits="Scheduling is blocked due to non-empty scheduling gates")).alone
    assert (
        row.why
        == "SchedulingGated: the pod has the scheduling gate x/y: the controller or user that set it must remove it"
    )


def test_pod_groups_come_by_age() -> None:
    old, new = pod_group("z", created="2026-01-01T00:00:00Z"), pod_group("a", created="2026-01-02T00:00:00Z")
    assert [group.key for group in seen(new, old).groups] == ["ml/z", "ml/a"]


def test_queues_come_as_a_tree_without_its_root() -> None:
    rows = seen(
        queue("root"),
        queue("default", parent="root"),
        queue("dev", parent="org"),
        queue("org", parent="root"),
        queue("lost", parent="nowhere"),
        queue("snake", parent="tail"),
        queue("tail", parent="snake"),
    ).queues
    assert [(row.name, row.depth) for row in rows] == [
        ("default", 0),
        ("org", 0),
        ("dev", 1),
        ("lost", 0),
        ("snake", 0),
        ("tail", 0),
    ]


def test_a_queue_counts_the_pods_of_the_queues_below_it_too() -> None:
    rows = seen(
        queue("org"),
        queue("dev", parent="org"),
        pod_group("train", queue="dev"),
        pod("a", group="train", node="n", phase="Running"),
        pod("b", group="train"),
    ).queues
    assert {row.name: (row.running, row.pods) for row in rows} == {"org": (1, 2), "dev": (1, 2)}


def test_queues_that_do_not_exist_count_the_pod_groups_that_name_them() -> None:
    why = "QueueNotFound: queue typo does not exist"
    objects = [
        queue("a"),
        pod_group("one", queue="typo", why=why),
        pod_group("two", queue="typo", why=why),
        pod_group("left", queue="gone", phase="Running"),
        pod("left-0", group="left", node="n", phase="Running"),
        pod("left-1", group="left"),
        pod_group("ended", queue="earlier", phase="Completed"),
        pod_group("new", queue="perhaps-on-its-way"),
        pod_group("fine", queue="a", why="NodesRefuse: no node fits"),
    ]
    assert seen(*objects).missing == (MissingQueueRow("gone", 1, 1, 2), MissingQueueRow("typo", 2, 0, 0))
    assert seen(*objects[1:]).missing == (), "no queue has been read yet"


def test_a_queue_shows_what_the_scheduler_has_written() -> None:
    (row,) = seen(
        queue("a", weight=3, allocated={"cpu": "1500m", "memory": "2Gi", "pods": "7"}, capability={"cpu": 4})
    ).queues
    assert (row.state, row.weight) == ("Open", 3)
    assert row.allocated == {"cpu": 1500, "memory": 2 * GIB}
    assert row.capability == {"cpu": 4000}


def test_a_node_counts_what_its_pods_ask_for_until_they_have_finished() -> None:
    (row,) = seen(
        node("n", cpu="8", memory="1Gi"),
        pod("a", node="n", phase="Running", cpu="1500m"),
        pod("b", node="n", phase="Pending", cpu="1"),
        pod("c", node="n", phase="Succeeded", cpu="4"),
        pod("d", node="elsewhere", phase="Running"),
        pod("e"),
    ).nodes
    assert row.used == {"cpu": 2500}
    assert row.allocatable == {"cpu": 8000, "memory": GIB}
    assert row.pods == ("ml/a", "ml/b")


def test_what_cannot_be_read_is_not_counted() -> None:
    found = seen(node("n", cpu="plenty"), pod("a", node="n", cpu="-1"), queue("a", capability={"cpu": "much"}))
    assert (found.nodes[0].allocatable, found.nodes[0].used, found.queues[0].capability) == ({}, {}, {})
    assert found.nodes[0].pods == ("ml/a",)


def test_events_come_by_time_and_only_about_what_is_scheduled() -> None:
    rows = seen(
        event("late", minute=2, reason="Late", type="Warning", message="m", count=3),
        event("early", minute=1, reason="Early"),
        event("other", about="ReplicaSet", reason="SuccessfulCreate"),
    ).events
    assert [(row.reason, row.warning, row.about, row.count) for row in rows] == [
        ("Early", False, "Pod/a", 1),
        ("Late", True, "Pod/a", 3),
    ]


def test_an_event_about_a_generated_pod_group_names_its_owner() -> None:
    rows = seen(
        pod_group("podgroup-0d3", owner=("ReplicaSet", "web-5f")),
        pod_group("train", owner=("Job", "job-1")),
        event("made", minute=1, involvedObject={"kind": "PodGroup", "name": "podgroup-0d3"}),
        event("own", minute=2, involvedObject={"kind": "PodGroup", "name": "train"}),
        event("gone", minute=3, involvedObject={"kind": "PodGroup", "name": "podgroup-77"}),
    ).events
    assert [row.about for row in rows] == ["ReplicaSet/web-5f", "PodGroup/train", "PodGroup/podgroup-77"]


def test_an_event_without_a_last_time_happened_when_it_was_created() -> None:
    made = event("e", lastTimestamp=None, eventTime="2026-01-01T00:05:00Z")
    assert seen(made).events[0].at == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def test_only_the_latest_events_are_kept() -> None:
    mirror = Mirror()
    for minute in range(59, -1, -1):
        mirror.upsert(EVENT.name, event(f"e{minute}", minute=minute))
    minutes = [row.at.minute for row in mirror.overview().events]
    assert minutes == list(range(10, 60))


def test_what_has_happened_stays_when_the_server_forgets_it() -> None:
    mirror = Mirror()
    mirror.upsert(EVENT.name, event("a", reason="Once"))
    mirror.delete(EVENT.name, event("a"))
    mirror.replace(EVENT.name, [event("b", minute=1, reason="Then")])
    assert [row.reason for row in mirror.overview().events] == ["Once", "Then"]


def test_a_list_replaces_what_was_known() -> None:
    mirror = Mirror()
    mirror.replace("Node", [node("a"), node("b")])
    mirror.replace("Node", [node("b"), node("c")])
    assert [row.name for row in mirror.overview().nodes] == ["b", "c"]


def test_what_is_gone_is_gone_once() -> None:
    mirror = Mirror()
    mirror.upsert("Pod", pod("a"))
    mirror.delete("Pod", pod("a"))
    mirror.delete("Pod", pod("a"))
    assert mirror.overview().pods == ()


@pytest.mark.parametrize("change", ["upsert", "delete", "replace"])
def test_every_change_is_reported(change: str) -> None:
    mirror = Mirror()
    mirror.upsert("Pod", pod("a"))
    mirror.changed.clear()
    if change == "replace":
        mirror.replace("Pod", [])
    else:
        getattr(mirror, change)("Pod", pod("a"))
    assert mirror.changed.is_set()
