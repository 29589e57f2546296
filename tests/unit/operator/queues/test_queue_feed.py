"""The feed of queues: two sources that overtake each other, and sinks that see one consistent order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from volcano_py.api.objects import ApiObject, Queue
from volcano_py.operator.queues.feed import QueueFeed


class Recorder:
    """A sink that keeps what it was given."""

    def __init__(self) -> None:
        self.queues: dict[str, str] = {}  # name → UID/version
        self.calls: list[str] = []
        self.bad: list[tuple[str, str, str]] = []

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self.calls.append(f"replace {kind}")
        self.queues = {}
        for obj in objects:
            self._keep(obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        self._keep(obj)
        self.calls.append(f"upsert {obj.metadata.name}")  # type: ignore[attr-defined]

    def delete(self, kind: str, obj: ApiObject) -> None:
        assert isinstance(obj, Queue)
        self.calls.append(f"delete {obj.metadata.name} {obj.metadata.uid}")
        del self.queues[obj.metadata.name]

    def _keep(self, obj: ApiObject) -> None:
        assert isinstance(obj, Queue)
        self.queues[obj.metadata.name] = f"{obj.metadata.uid}/{obj.metadata.resource_version}"

    def bad_object(self, kind: str, key: str, uid: str, error: Exception) -> None:
        self.bad.append((kind, key, uid))


def raw(name: str, version: int, uid: str = "") -> dict[str, Any]:
    metadata = {"name": name, "uid": uid or f"u-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata}


def queue(name: str, version: int, uid: str = "", **spec: Any) -> msgspec.Raw:
    """As it stands in a list."""
    return msgspec.Raw(msgspec.json.encode(raw(name, version, uid) | {"spec": spec}))


def started(*queues: msgspec.Raw, version: int = 10) -> tuple[QueueFeed, Recorder]:
    recorder = Recorder()
    feed = QueueFeed([recorder], recorder.bad_object)
    feed.listed(queues, str(version))
    recorder.calls.clear()
    return feed, recorder


def test_the_first_list_is_the_whole_truth() -> None:
    recorder = Recorder()
    QueueFeed([recorder], recorder.bad_object).listed([queue("a", 1), queue("b", 2)], "10")
    assert recorder.calls == ["replace Queue"]
    assert recorder.queues == {"a": "u-a/1", "b": "u-b/2"}


def test_every_sink_is_called() -> None:
    one, two = Recorder(), Recorder()
    feed = QueueFeed([one, two], one.bad_object)
    feed.listed([queue("a", 1)], "10")
    feed.event("ADDED", raw("b", 11))
    feed.event("DELETED", raw("a", 12))
    assert one.queues == two.queues == {"b": "u-b/11"}


def test_kopfs_own_list_repeats_nothing() -> None:
    feed, recorder = started(queue("a", 1))
    feed.event(None, raw("a", 1))
    assert recorder.calls == []


def test_changes_and_deletions_are_handed_on() -> None:
    feed, recorder = started(queue("a", 1))
    feed.event("MODIFIED", raw("a", 11))
    feed.event("ADDED", raw("b", 12))
    feed.event("DELETED", raw("a", 13))
    assert recorder.calls == ["upsert a", "upsert b", "delete a u-a"]


def test_an_event_that_is_older_than_what_is_known_is_dropped() -> None:
    feed, recorder = started(queue("a", 9))
    feed.event("MODIFIED", raw("a", 8))
    assert recorder.calls == []


def test_a_deleted_queue_does_not_come_back_by_a_late_event_or_list() -> None:
    feed, recorder = started(queue("a", 1))
    feed.event("DELETED", raw("a", 12))
    feed.event("MODIFIED", raw("a", 11))
    feed.listed([queue("a", 1)], "11")  # made before the deletion
    assert recorder.calls == ["delete a u-a"]
    feed.event("ADDED", raw("a", 13, uid="another"))
    assert recorder.queues == {"a": "another/13"}


def test_a_namesake_replaces_its_predecessor_even_if_the_deletion_comes_later() -> None:
    feed, recorder = started(queue("a", 1))
    feed.event("ADDED", raw("a", 12, uid="another"))
    feed.event("DELETED", raw("a", 11))
    feed.event("MODIFIED", raw("a", 9))
    assert recorder.calls == ["upsert a"]
    assert recorder.queues == {"a": "another/12"}


def test_an_unreported_deletion_is_found_by_the_list() -> None:
    feed, recorder = started(queue("a", 1), queue("b", 2))
    feed.listed([queue("b", 2)], "20")
    assert recorder.calls == ["delete a u-a"]


def test_what_a_list_has_shown_to_be_gone_does_not_come_back_by_a_late_event_or_answer() -> None:
    feed, recorder = started(queue("a", 1))
    feed.listed([], "20")
    feed.event("MODIFIED", raw("a", 11))
    feed.made(msgspec.convert(raw("b", 12), Queue))
    assert recorder.calls == ["delete a u-a"]
    feed.event("ADDED", raw("a", 21, uid="another"))
    assert recorder.queues == {"a": "another/21"}


def test_a_list_does_not_undo_what_came_after_it() -> None:
    feed, recorder = started(queue("a", 1))
    feed.event("ADDED", raw("b", 15))
    feed.event("MODIFIED", raw("a", 16))
    feed.listed([queue("a", 1)], "14")
    assert recorder.queues == {"a": "u-a/16", "b": "u-b/15"}


def test_a_change_that_only_the_list_shows_is_handed_on() -> None:
    feed, recorder = started(queue("a", 1))
    feed.listed([queue("a", 12), queue("b", 13)], "20")
    assert recorder.calls == ["upsert a", "upsert b"]


def test_events_that_stay_behind_two_lists_have_stalled() -> None:
    feed, _ = started(queue("a", 1))
    assert feed.listed([queue("a", 12)], "20")  # the event may be on its way
    assert not feed.listed([queue("a", 12)], "30")
    assert feed.listed([queue("a", 12)], "40")  # said once: whoever acts on it needs time


def test_events_that_are_late_but_come_have_not_stalled() -> None:
    feed, recorder = started(queue("a", 1))
    assert feed.listed([queue("a", 12), queue("b", 13)], "20")
    feed.event("MODIFIED", raw("a", 12))
    feed.event("DELETED", raw("b", 21))
    assert feed.listed([queue("a", 12)], "30")
    assert recorder.calls == ["upsert a", "upsert b", "delete b u-b"]


def test_a_queue_that_cannot_be_read_keeps_its_last_good_version() -> None:
    feed, recorder = started(queue("a", 1))
    feed.event("MODIFIED", raw("a", 11) | {"spec": {"weight": "heavy"}})
    assert recorder.bad == [("Queue", "a", "u-a")]
    assert recorder.queues == {"a": "u-a/1"}


def test_nulls_are_taken_for_what_is_left_out() -> None:
    feed, recorder = started(queue("a", 1, weight=None, guarantee=None))
    assert recorder.queues == {"a": "u-a/1"}
    feed.event("MODIFIED", raw("a", 11) | {"spec": {"capability": None}, "status": None})
    assert recorder.queues == {"a": "u-a/11"}
    assert recorder.bad == []


def test_a_queue_in_a_list_that_cannot_be_read_exists_nevertheless() -> None:
    feed, recorder = started(queue("a", 1), queue("b", 2, weight="heavy"))
    assert recorder.queues == {"a": "u-a/1"}
    feed.listed([queue("a", 11, weight="heavy"), queue("b", 2, weight="heavy")], "20")
    assert recorder.queues == {"a": "u-a/1"}
    assert recorder.calls == []
    assert recorder.bad == [("Queue", "b", "u-b"), ("Queue", "a", "u-a"), ("Queue", "b", "u-b")]


def test_a_queue_that_we_made_is_known_before_any_event_and_reported_once() -> None:
    feed, recorder = started(queue("a", 1))
    feed.made(msgspec.convert(raw("b", 11), Queue))
    feed.event("ADDED", raw("b", 11))
    assert recorder.queues == {"a": "u-a/1", "b": "u-b/11"}
    assert recorder.calls == ["upsert b"]
    assert feed.listed([queue("a", 1), queue("b", 11)], "12")
