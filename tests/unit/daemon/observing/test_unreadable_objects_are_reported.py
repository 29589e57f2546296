"""Objects that exist and cannot be read: each gets a message that says what is wrong with it, once."""

from __future__ import annotations

from collections import Counter

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.daemon.observing.unreadable import UnreadableObjects


class Stage:
    """One replica."""

    def __init__(self) -> None:
        self.reported: list[Event] = []
        self.counted: Counter[str] = Counter()
        self.objects = UnreadableObjects(self.reported.append, count=self._count)

    def _count(self, kind: str) -> None:
        self.counted[kind] += 1

    def found(self, kind: str, key: str, uid: str = "u1", wrong: str = "Expected `int`, got `str` - at `$.x`") -> None:
        self.objects.found(kind, key, uid, ValueError(wrong))


def test_the_event_is_on_the_object_and_names_the_field() -> None:
    stage = Stage()
    stage.found("Queue", "team")
    stage.found("VolcanoJob", "ns/train", "u2")

    queue, job = stage.reported
    assert queue.about == ObjectRef("Queue", "", "team", "u1")
    assert job.about == ObjectRef("Job", "ns", "train", "u2"), "as the API calls it"
    assert (queue.type, queue.reason) == ("Warning", "Unreadable")
    assert queue.message == (
        "this Queue cannot be read: x: expected `int`, got `str`; correct that field. Until then it is"
        " ignored, or counts as in its last readable version"
    )


def test_what_is_met_with_every_list_is_reported_once_until_something_else_is_wrong() -> None:
    stage = Stage()
    for _ in range(3):
        stage.found("Queue", "team")
    assert len(stage.reported) == 1
    assert stage.counted == Counter(Queue=3)

    stage.found("Queue", "team", wrong="Expected `object`")
    stage.found("Queue", "team", uid="u2", wrong="Expected `object`")

    assert len(stage.reported) == 3, "another trouble, and another object of that name"


def test_an_event_and_a_list_mean_the_same() -> None:
    """In an event of a watch the object is a field."""
    stage = Stage()
    for path in ("$.object.spec.tasks[0]", "$.spec.tasks[0]"):
        stage.found("VolcanoJob", "ns/train", wrong=f"Expected `object`, got `null` - at `{path}`")
    stage.found("VolcanoJob", "ns/train", wrong="Object missing required field `metadata` - at `$.object`")

    assert [event.message.partition("; ")[0] for event in stage.reported] == [
        "this Job cannot be read: spec.tasks[0]: expected `object`, got `null`",
        "this Job cannot be read: Object missing required field `metadata`",
    ]
