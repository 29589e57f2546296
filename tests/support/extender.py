"""An extender that answers from a script, without a network, and clusters that ask it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tests.support.registries import checked_registry
from volcano_py.api.extender.answers import read
from volcano_py.api.extender.client import Answers, Failure, Question
from volcano_py.api.objects import ApiObject
from volcano_py.config import format_problems, parse_configuration
from volcano_py.simulation import Simulation

T = TypeVar("T")
Answer = Mapping[str, Any] | Failure | bytes
Script = Mapping[str, Answer | Callable[[dict[str, Any]], Answer]]

URL = "http://user:hunter2@extender.example:8080/base/"
VERBS = {
    "open": "onSessionOpenVerb",
    "close": "onSessionCloseVerb",
    "predicate": "predicateVerb",
    "prioritize": "prioritizeVerb",
    "preemptable": "preemptableVerb",
    "reclaimable": "reclaimableVerb",
    "overused": "queueOverusedVerb",
    "enqueueable": "jobEnqueueableVerb",
    "enqueued": "jobEnqueuedVerb",
    "ready": "jobReadyVerb",
    "allocate": "allocateFuncVerb",
    "deallocate": "deallocateFuncVerb",
}
DOWN = Failure("cannot be reached: Connection refused")


class Scripted:
    """An `ExtenderClient`. A verb that the script does not name fails the test.

    Attributes:
        asked: verb and body of each question, in their order.
        urls: where they went.
    """

    def __init__(self, script: Script, *, seconds: float = 0.0) -> None:
        """`seconds`: how long the questions that are sent together take."""
        self.script, self._seconds = script, seconds
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.urls: set[str] = set()
        self.within: list[float] = []
        self.together: list[int] = []
        self.objects: dict[tuple[str, str], ApiObject] = {}

    def ask(self, url: str, verb: str, questions: Sequence[Question], kind: type[T], within: float) -> Answers[T]:
        self.urls.add(url)
        self.within.append(within)
        self.together.append(len(questions))
        started = time.perf_counter()
        bodies = [question.make() for question in questions]
        seconds = self._seconds + time.perf_counter() - started
        answers = [self._answer(verb, json.loads(body)) for body in bodies]
        return Answers(tuple(each if isinstance(each, Failure) else read(each, kind) for each in answers), seconds)

    def find(self, kind: str, key: str) -> ApiObject | None:
        return self.objects.get((kind, key))

    def _answer(self, verb: str, body: dict[str, Any]) -> bytes | Failure:
        self.asked.append((verb, body))
        said = self.script[verb]
        answer = said(body) if callable(said) else said
        return answer if isinstance(answer, Failure | bytes) else json.dumps(answer).encode()

    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.asked]

    def bodies(self, verb: str) -> list[dict[str, Any]]:
        return [body for asked, body in self.asked if asked == verb]


def configuration(
    verbs: Iterable[str], *, actions: str = "enqueue, allocate, backfill", more: Sequence[str] = (), **arguments: Any
) -> str:
    """A configuration whose extender has these verbs, each under its short name."""
    given = {"extender.urlPrefix": URL, **{f"extender.{VERBS[verb]}": verb for verb in verbs}, **arguments}
    plugins = ["{name: priority}", "{name: gang}", "{name: predicates}", *more]
    plugins.append(f"{{name: extender, arguments: {json.dumps(given)}}}")
    return f'actions: "{actions}"\ntiers:\n- plugins: [{", ".join(plugins)}]\n'


def simulation(objects: Iterable[ApiObject], text: str, client: Scripted | None) -> Simulation:
    """A cluster whose scheduler asks the client."""
    registry = checked_registry()
    parsed = parse_configuration(text, registry.catalogue(), strict=True)
    assert parsed.config is not None, format_problems(parsed.problems, text)
    items = [(type(each).__name__, each) for each in objects]
    return Simulation(items, parsed.config, registry, extender=client)
