"""Property: whatever answers show while a list is read and handed on, the sink ends with what there is."""

from __future__ import annotations

import asyncio
from unittest.mock import patch

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.cluster.fakes import FakeClock, RecordingSink, pod
from volcano_py.api.objects import Pod
from volcano_py.cluster.kubernetes.watching import sink_feed
from volcano_py.cluster.kubernetes.watching.decoding import Decoder
from volcano_py.cluster.kubernetes.watching.kinds import POD
from volcano_py.cluster.kubernetes.watching.sink_feed import SinkFeed

Event = tuple[str, Pod]
"""What has happened, and the object after it."""


def a_pod(name: str, uid: str, version: int) -> Pod:
    return msgspec.convert(pod(name, version, uid=uid), Pod)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Additions, changes and deletions of a few pods and their namesakes; the n-th has the version n + 1."""
    alive: dict[str, str] = {}
    events: list[Event] = []
    for version in range(1, draw(st.integers(1, 20)) + 1):
        name = draw(st.sampled_from("abc"))
        if name not in alive:
            alive[name] = f"uid-{version}"
            events.append(("ADDED", a_pod(name, alive[name], version)))
        else:
            change = draw(st.sampled_from(["MODIFIED", "DELETED"]))
            uid = alive.pop(name) if change == "DELETED" else alive[name]
            events.append((change, a_pod(name, uid, version)))
    return events


def there(history: list[Event]) -> list[Pod]:
    """What is there after it, by name."""
    found: dict[str, Pod] = {}
    for change, obj in history:
        found.pop(obj.metadata.name, None)
        if change != "DELETED":
            found[obj.metadata.name] = obj
    return [found[name] for name in sorted(found)]


@settings(deadline=None, max_examples=300)
@given(history=histories(), data=st.data())
def test_a_list_and_answers_in_any_order_end_in_the_truth(history: list[Event], data: st.DataObject) -> None:
    """The sink knows an older list. Answers that show what was written come whenever; a watch follows the list."""
    known, listed = sorted(data.draw(st.tuples(*(st.integers(0, len(history)),) * 2)))
    written = [obj for change, obj in history[known:] if change != "DELETED"]
    answers = iter(data.draw(st.permutations(written)))
    sink = RecordingSink()
    feed = SinkFeed("Pod", sink, Decoder(POD), FakeClock(), lambda *_: None)

    def some_answers() -> None:
        for _ in range(data.draw(st.integers(0, 2))):
            if (obj := next(answers, None)) is not None:
                feed.answered(obj)

    async def read(version: int, *, is_first: bool) -> None:
        feed.begin_list(str(version), is_first=is_first)
        for obj in there(history[:version]):
            await feed.take_listed([obj], {})
            if not is_first:
                some_answers()
        await feed.end_list()

    async def follow() -> None:
        await read(known, is_first=True)
        some_answers()
        await read(listed, is_first=False)
        for change, obj in history[listed:]:
            some_answers()
            feed.changed(change, obj)
        for obj in answers:
            feed.answered(obj)

    with patch.object(sink_feed, "_HELD", 0):
        asyncio.run(follow())

    assert list(dict(sorted(sink.objects.items())).values()) == there(history)
