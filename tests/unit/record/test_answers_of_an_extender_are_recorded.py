"""Cycles that have asked an extender are decided again by its recorded answers; what is missing is counted."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.extender import DOWN, Scripted, configuration
from tests.support.sessions import gang, node, pod, priority_class, queue
from tests.unit.daemon.cycling import REGISTRY, Bench
from tests.unit.record.recording import recorded
from volcano_py.api.extender.answers import (
    NO_OBJECTION,
    EventAnswer,
    OverusedAnswer,
    PredicateAnswer,
    PrioritizeAnswer,
    ReadyAnswer,
    VictimsAnswer,
    VoteAnswer,
)
from volcano_py.api.extender.client import Answers, Failure, Question
from volcano_py.api.objects import ApiObject
from volcano_py.config import parse_configuration
from volcano_py.record.answers import RecordedExtender, RecordingExtender, answered
from volcano_py.record.comparison import Comparison
from volcano_py.record.entries import Answered
from volcano_py.record.news import Heard
from volcano_py.record.replay import Cycle, replay
from volcano_py.record.segments import Limits, read, segments

EVERY_VERB = ("open", "close", "predicate", "prioritize", "preemptable", "enqueueable", "enqueued", "ready")
EACH_CYCLE = Limits(size=10**9, segments=10**9)
PREEMPTING = "enqueue, allocate, preempt, backfill"


def moody(*, refuses: str = "n1") -> dict[str, Any]:
    """A script that no replay could guess: it depends on how often it was asked."""
    count = itertools.count()

    def judge(body: dict[str, Any]) -> Any:
        number = next(count)
        if number % 7 == 3:
            return DOWN
        return {"status": f"busy for {number} s" if body["node"]["Name"] == refuses or number % 3 else "", "code": 2}

    def rank(body: dict[str, Any]) -> Any:
        return {"nodeScore": {each["Name"]: next(count) % 5 for each in body["nodes"]}}

    def give(body: dict[str, Any]) -> Any:
        return {"status": 1, "victims": body["evictees"][:: 1 + next(count) % 2]}

    return {
        "open": {},
        "close": {},
        "predicate": judge,
        "prioritize": rank,
        "preemptable": give,
        "enqueueable": lambda _body: {"status": 1 if next(count) % 2 else -1},
        "enqueued": {},
        "overused": lambda _body: {"overused": next(count) % 4 == 0},
        "ready": lambda _body: {"status": next(count) % 3 > 0},
        "allocate": lambda _body: {"errorMessage": "" if next(count) % 3 else "no port"},
        "deallocate": {},
    }


async def live(bench: Bench) -> None:
    """Jobs come and wait, nodes come, and an important job needs the places of others."""
    bench.put(queue("default"), priority_class("high", 100), *(node(f"n{number}", cpu="4") for number in (1, 2)))
    for number in range(4):
        bench.put(*gang(f"job-{number}", pods=2, cpu="1", min_resources={"cpu": "2"}, group_phase="Pending"))
        await bench.after(11)
    bench.put(node("n3", cpu="4"), *gang("urgent", pods=3, cpu="2", priority_class="high"))
    await bench.after(40)
    bench.put(node("n4", cpu="16"))
    await bench.after(40)


async def record(directory: Path, client: Scripted, text: str, limits: Limits | None = None) -> None:
    async with recorded(directory, text, limits, client) as (bench, _):
        await live(bench)


def differences(cycles: Iterator[Cycle]) -> list[int]:
    return [cycle.number for cycle in cycles if cycle.difference]


@pytest.mark.parametrize("ignorable", [True, False])
@pytest.mark.parametrize("verbs", [EVERY_VERB, ("predicate",), ("allocate", "deallocate"), ("overused", "ready")])
async def test_every_cycle_decides_the_same_again(tmp_path: Path, verbs: tuple[str, ...], ignorable: bool) -> None:
    client = Scripted(moody())
    more: dict[str, Any] = {"extender.ignorable": ignorable}
    text = configuration(verbs, actions=PREEMPTING, **more)
    await record(tmp_path, client, text)
    cycles = [*replay(segments(tmp_path), REGISTRY)]
    assert client.asked
    assert len(cycles) > 8
    assert differences(iter(cycles)) == []
    assert sum(cycle.unanswered for cycle in cycles) == 0


async def test_without_the_answers_cycles_would_differ(tmp_path: Path) -> None:
    await record(tmp_path, Scripted(moody()), configuration(EVERY_VERB, actions=PREEMPTING))
    _without(tmp_path, b'"entry":"Answered"')
    cycles = [*replay(segments(tmp_path), REGISTRY)]
    assert differences(iter(cycles))
    assert sum(cycle.unanswered for cycle in cycles) > 0


async def test_a_server_that_takes_long_or_fails_is_left_alone_again(tmp_path: Path) -> None:
    """The pauses after failures, and the time of a cycle, follow from what was recorded."""
    for folder, client in ("slow", Scripted(moody(), seconds=3.0)), ("down", Scripted({"predicate": DOWN})):
        await record(tmp_path / folder, client, configuration(["predicate"]))
        cycles = [*replay(segments(tmp_path / folder), REGISTRY)]
        assert differences(iter(cycles)) == []
        assert sum(cycle.unanswered for cycle in cycles) == 0


async def test_every_segment_alone_decides_the_same_again(tmp_path: Path) -> None:
    await record(tmp_path, Scripted(moody()), configuration(EVERY_VERB, actions=PREEMPTING), EACH_CYCLE)
    assert len(segments(tmp_path)) > 8
    for path in segments(tmp_path):
        assert differences(replay([path], REGISTRY)) == []


async def test_a_class_is_asked_about_by_the_same_pod_whatever_the_order_of_rows_in_the_tables(tmp_path: Path) -> None:
    """A new pod gets the row of one that is gone, but not in a state that a segment begins with."""
    client = Scripted({"predicate": {"status": "broken", "code": 2}})
    async with recorded(tmp_path, configuration(["predicate"]), EACH_CYCLE, client) as (bench, _):
        bench.put(queue("default"), node("n1", cpu="4"), *gang("x", cpu="1"), *gang("y", cpu="1"))
        await bench.after(6)
        for obj in reversed(gang("x", cpu="1")):
            bench.state.delete(type(obj).__name__, obj)
        bench.put(*gang("z", cpu="1"))
        await bench.after(20)
    for path in segments(tmp_path):
        cycles = [*replay([path], REGISTRY)]
        assert differences(iter(cycles)) == []
        assert not any(cycle.unanswered for cycle in cycles)


async def test_a_record_of_an_older_version_is_decided_without_the_extender(tmp_path: Path) -> None:
    await record(tmp_path, Scripted(moody()), configuration(EVERY_VERB, actions=PREEMPTING))
    _without(tmp_path, b'"entry":"Answered"')
    _edit(tmp_path, b',"hasAnswers":true', b"")
    cycles = [*replay(segments(tmp_path), REGISTRY)]
    assert all(cycle.report.remarks["extender"] for cycle in cycles)
    assert not any(cycle.unanswered for cycle in cycles)


async def test_questions_of_another_configuration_are_answered_where_the_record_has_them(tmp_path: Path) -> None:
    await record(tmp_path, Scripted(moody()), configuration(["predicate"]))
    other = parse_configuration(configuration(["predicate", "enqueueable"]), REGISTRY.catalogue()).config
    comparison = Comparison()
    cycles = [*replay(segments(tmp_path), REGISTRY, other)]
    for cycle in cycles:
        comparison.take(cycle)
    assert 0 < comparison.found().unanswered == sum(cycle.unanswered for cycle in cycles)
    assert differences(iter(cycles)) == [], "an answer that is missing is no objection, and the others are known"


async def test_answers_that_are_alike_are_recorded_once_and_with_what_decisions_need(tmp_path: Path) -> None:
    says = {"status": "", "code": 1, "debug": "x" * 1000}
    client = Scripted({"predicate": lambda body: {**says, "status": "broken" * (body["node"]["Name"] == "n07")}})
    async with recorded(tmp_path, configuration(["predicate"]), None, client) as (bench, _):
        bench.put(queue("default"), *(node(f"n{number:02}", cpu="1") for number in range(16)))
        bench.put(*gang("train", pods=16, cpu="1"))
        await bench.after(1)
    entries = [entry for path in segments(tmp_path) for entry in read(path) if isinstance(entry, Answered)]
    assert {about for entry in entries for about in entry.about} >= {f"team/train-0 n{number:02}" for number in (1, 7)}
    assert {bytes(answer) for entry in entries for answer in entry.answers} == {b"{}", b'{"status":"broken"}'}
    assert all(len(entry.answers) == 1 or len(entry.which) == len(entry.about) for entry in entries)


async def test_no_login_is_in_a_record(tmp_path: Path) -> None:
    said = "cannot ask http://user:hunter2@inventory.example/nodes"
    client = Scripted({"predicate": {"status": said, "code": 2}, "allocate": {"errorMessage": said}, "deallocate": {}})
    await record(tmp_path, client, configuration(["predicate", "allocate", "deallocate"]))
    text = b"".join(gzip.decompress(path.read_bytes()) for path in segments(tmp_path))
    assert b"inventory.example" in text
    assert b"hunter2" not in text
    assert differences(replay(segments(tmp_path), REGISTRY)) == []


FOUND = pod("a")


class _Says:
    """A client that gives this answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, url: str, verb: str, questions: Any, kind: Any, within: float) -> Answers[Any]:
        return Answers((self.answer,) * len(questions), 0.25)

    def find(self, kind: str, key: str) -> ApiObject | None:
        return FOUND


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        (Failure("did not answer in time"), Failure("did not answer in time")),
        (PredicateAnswer("no", 2), PredicateAnswer("no", 2)),
        (PredicateAnswer("no", 10**30), PredicateAnswer("no")),
        (PredicateAnswer(None, None), PredicateAnswer()),
        (PredicateAnswer("x" * 10**6), PredicateAnswer("x" * 1000)),
        (PredicateAnswer("x" * 990 + " http://user:word@host"), PredicateAnswer("x" * 990 + " http://ho")),
        (PrioritizeAnswer(None, "no data"), PrioritizeAnswer(None, "no data")),
        (PrioritizeAnswer({"a": float("nan"), "b": -1e300}), PrioritizeAnswer({"a": 0.0, "b": -1e12})),
        (PrioritizeAnswer({}), PrioritizeAnswer({})),
        (VictimsAnswer(1, [{"UID": "b", "more": 1}, {"uid": "a"}]), VictimsAnswer(1, [{"uid": "a"}, {"uid": "b"}])),
        (VictimsAnswer(-1, [{"UID": "b"}]), VictimsAnswer(-1)),
        (VoteAnswer(10**30), VoteAnswer()),
        (VoteAnswer(-1), VoteAnswer(-1)),
        (OverusedAnswer(overused=True), OverusedAnswer(overused=True)),
        (ReadyAnswer(status=None), ReadyAnswer(status=None)),
        (EventAnswer("full"), EventAnswer("full")),
        (None, None),
    ],
)  # fmt: skip
def test_an_answer_means_the_same_again(answer: Any, again: Any) -> None:
    heard: list[Any] = []
    asking = RecordingExtender(_Says(answer), heard.append)
    questions = [Question(about, lambda: b"", among=("a", "b")) for about in ("team/a", "team/b")]
    kind = type(answer) if not isinstance(answer, Failure) else PredicateAnswer
    assert asking.ask("http://x", "verb", questions, kind, 1.0).found == (answer, answer)
    assert asking.find("Pod", "team/a") is FOUND
    line = msgspec.json.encode(answered(heard[0]))
    known = RecordedExtender()
    known.begin([msgspec.json.decode(line, type=Answered)])
    assert known.ask("", "verb", questions, kind, 1.0) == Answers((again, again), 0.25)
    assert known.missing == 0


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (PrioritizeAnswer({f"n{number}": 1.0 for number in range(1000)}), b'{"nodescore":{"n1":1.0}}'),
        (VictimsAnswer(1, [{"uid": f"n{number}"} for number in range(1000)]), b'{"status":1,"victims":[{"uid":"n1"}]}'),
    ],
)
def test_what_was_not_asked_about_is_not_recorded(answer: Any, kept: bytes) -> None:
    """An answer may be as large as the server likes; the record has what follows from the question."""
    heard: list[Any] = []
    question = Question("team/a", lambda: b"", among=("n1", "m1"))
    RecordingExtender(_Says(answer), heard.append).ask("http://x", "verb", [question], type(answer), 1.0)
    assert [bytes(each) for each in answered(heard[0]).answers] == [kept]


@pytest.mark.parametrize("kind", NO_OBJECTION)
def test_a_question_without_an_answer_is_counted_and_means_no_objection(kind: Any) -> None:
    known = RecordedExtender()
    known.begin([answered(Heard("other", ("team/a",), ((),), (Failure("answered 500"),), 1.0))])
    question = Question("team/a", lambda: b"")
    assert known.ask("", "verb", [question], kind, 1.0) == Answers((NO_OBJECTION[kind],), 0.0)
    assert known.missing == 1


def test_an_answer_of_another_kind_is_none() -> None:
    known = RecordedExtender()
    known.begin([answered(Heard("verb", ("team/a",), ((),), (PredicateAnswer("no"),), 1.0))])
    question = Question("team/a", lambda: b"")
    assert known.ask("", "verb", [question], VoteAnswer, 1.0).found == (VoteAnswer(),)
    assert known.missing == 1


def test_answers_come_in_the_order_in_which_they_came() -> None:
    known = RecordedExtender()
    known.begin(answered(Heard("ready", ("team/a",), ((),), (ReadyAnswer(status=yes),), 0.5)) for yes in (False, True))
    question = Question("team/a", lambda: b"")
    said = [known.ask("", "ready", [question], ReadyAnswer, 1.0).found[0] for _ in range(3)]
    assert said == [ReadyAnswer(status=False), ReadyAnswer(status=True), ReadyAnswer(status=True)]


def _without(folder: Path, mark: bytes) -> None:
    for path in segments(folder):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        path.write_bytes(gzip.compress(b"".join(line for line in lines if mark not in line)))


def _edit(folder: Path, old: bytes, new: bytes) -> None:
    for path in segments(folder):
        text = gzip.decompress(path.read_bytes())
        assert old in text
        path.write_bytes(gzip.compress(text.replace(old, new)))
