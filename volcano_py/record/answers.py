"""Answers of an extender: recorded as they come, and given again when the cycle is decided again.

An answer is found again by the verb and by what was asked about. Where a record has none, the extender has no
objection to anything, and that is counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from volcano_py.api.extender.answers import (
    NO_OBJECTION,
    EventAnswer,
    PredicateAnswer,
    PrioritizeAnswer,
    VictimsAnswer,
    VoteAnswer,
)
from volcano_py.api.extender.client import Answers, ExtenderClient, Failure, Question
from volcano_py.api.objects import ApiObject
from volcano_py.config.text.logins import without_login
from volcano_py.record.entries import Answered
from volcano_py.record.news import Heard, News

T = TypeVar("T")

_LONGEST: Final = 1000
"""Characters that are kept of a text; a message has less of it."""


class RecordingExtender:
    """An `ExtenderClient` that asks another one; `record` is given what that answers."""

    def __init__(self, client: ExtenderClient, record: Callable[[News], None]) -> None:
        self._client, self._record = client, record

    def ask(self, url: str, verb: str, questions: Sequence[Question], kind: type[T], within: float) -> Answers[T]:
        answers = self._client.ask(url, verb, questions, kind, within)
        about, among = tuple(each.about for each in questions), tuple(each.among for each in questions)
        self._record(Heard(verb, about, among, answers.found, answers.seconds))
        return answers

    def find(self, kind: str, key: str) -> ApiObject | None:
        return self._client.find(kind, key)


def answered(heard: Heard) -> Answered:
    """The entry: of each answer what decisions need, and each different answer once."""
    places: dict[bytes, int] = {}
    which = [
        places.setdefault(_encoded(answer, among), len(places))
        for answer, among in zip(heard.answers, heard.among, strict=True)
    ]
    are_alike = len(places) < 2
    return Answered(
        verb=heard.verb,
        about=heard.about,
        seconds=heard.seconds,
        answers=tuple(map(msgspec.Raw, places)),
        which=() if are_alike else tuple(which),
    )


def _encoded(answer: object, among: Sequence[str]) -> bytes:
    """As JSON: why there is none as a string, what says nothing as null."""
    return msgspec.json.encode(answer.why if isinstance(answer, Failure) else _needed(answer, among))


def _needed(answer: Any, among: Sequence[str]) -> Any:
    """The answer without what has no effect, with numbers in their bounds. Texts show no logins."""
    match answer:
        case PredicateAnswer() if answer.status:
            return PredicateAnswer(_text(answer.status), 2 if answer.is_resolvable else 0)
        case PredicateAnswer():
            return PredicateAnswer()
        case PrioritizeAnswer():
            given = answer.nodescore
            scores = None if given is None else {name: answer.score(name) for name in among if name in given}
            return PrioritizeAnswer(scores, _text(answer.errormessage))
        case VictimsAnswer():
            victims = [{"uid": uid} for uid in sorted(answer.uids() & {*among})] if answer.status == 1 else None
            return VictimsAnswer(_vote(answer.status), victims)
        case VoteAnswer():
            return VoteAnswer(_vote(answer.status))
        case EventAnswer():
            return replace(answer, errormessage=_text(answer.errormessage))
        case _:
            return answer


def _vote(status: int | None) -> int:
    return status if status in (1, -1) else 0


def _text(text: str | None) -> str:
    read = (text or "")[: 2 * _LONGEST]  # a login that is cut would not be found
    return without_login(read)[:_LONGEST]


class RecordedExtender:
    """An `ExtenderClient` that answers from a record.

    Attributes:
        missing: how many questions of this cycle the record has no answer to.
    """

    def __init__(self) -> None:
        self.missing = 0
        self._answers: dict[tuple[str, str], deque[tuple[msgspec.Raw, float]]] = {}

    def begin(self, entries: Iterable[Answered]) -> None:
        """A cycle begins, in which these answers came."""
        self.missing = 0
        self._answers.clear()
        for entry in entries:
            which = entry.which or (0,) * len(entry.about)
            for number, (about, place) in enumerate(zip(entry.about, which, strict=True)):
                seconds = 0.0 if number else entry.seconds
                self._answers.setdefault((entry.verb, about), deque()).append((entry.answers[place], seconds))

    def ask(self, url: str, verb: str, questions: Sequence[Question], kind: type[T], within: float) -> Answers[T]:  # noqa: ARG002
        found = [self._find(verb, question.about, kind) for question in questions]
        return Answers(tuple(answer for answer, _ in found), sum(seconds for _, seconds in found))

    def _find(self, verb: str, about: str, kind: type[T]) -> tuple[T | Failure, float]:
        """The answer, and how long it took with those that were sent together with it."""
        known = self._answers.get((verb, about))
        if known:  # asked more often than in the record, the last answer is given again
            raw, seconds = known.popleft() if len(known) > 1 else known[0]
            try:
                answer = msgspec.json.decode(raw, type=kind | str)
                return Failure(answer) if isinstance(answer, str) else answer, seconds
            except msgspec.MsgspecError:
                pass  # another configuration asks something else by this verb
        self.missing += 1
        return NO_OBJECTION[kind], 0.0

    def find(self, kind: str, key: str) -> ApiObject | None:  # noqa: ARG002
        """Nothing: no question is sent."""
        return None
