"""The line to the extender: what may be asked, how long that may take, and what an answer has to be.

A cycle spends no longer than its budget on questions and answers. After some failures in a row the extender is left
alone for some seconds; then one more failure is enough. What is not asked for these reasons counts as a failure, too.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec
import structlog

from volcano_py.api.extender.client import ExtenderClient, Failure, Question
from volcano_py.plugins.extender.arguments import ExtenderArguments, is_url

log = structlog.get_logger(__name__)

T = TypeVar("T")

FAILURES_IN_A_ROW: Final = 5
"""After so many the extender is left alone."""
LEFT_ALONE_FOR: Final = 10.0
"""Seconds."""
_TOGETHER: Final = 16
"""Questions that are sent at once."""
_OWED_WITHIN: Final = 5.0
"""Seconds for what has to be sent although the budget is spent."""
_URL: Final = "url"
_IN_A_ROW: Final = "failures in a row"
_UNTIL: Final = "left alone until"
_FAILURE: Final = "last failure"


class Line:
    """For one cycle; `memory` lasts from cycle to cycle.

    Attributes:
        seconds: how long the cycle has spent on questions and answers.
    """

    def __init__(
        self, client: ExtenderClient, arguments: ExtenderArguments, memory: MutableMapping[str, Any], now: float
    ) -> None:
        self._client, self._arguments, self._memory, self._now = client, arguments, memory, now
        self.seconds = 0.0
        if memory.get(_URL, arguments.url) != arguments.url:  # another one, which has not failed yet
            memory.clear()
        memory[_URL] = arguments.url

    @property
    def left_alone_until(self) -> float:
        """Seconds since the epoch; in the past, or 0, if the extender may be asked."""
        until: float = self._memory.get(_UNTIL, 0.0)
        return until

    def ask(
        self, verb: str, questions: Sequence[Question], kind: type[T], *, is_owed: bool = False
    ) -> list[T | Failure]:
        """An answer of this kind for each question, in their order.

        `is_owed`: it undoes what was sent before, so it may take as long again as the budget.
        """
        found: list[T | Failure] = []
        while len(found) < len(questions):
            if (reason := self.why_not(is_owed=is_owed)) is not None:
                found.extend([Failure(reason)] * (len(questions) - len(found)))
                break
            limit = _OWED_WITHIN if is_owed else self._arguments.budget.total_seconds() - self.seconds
            within = min(self._arguments.timeout.total_seconds(), limit)
            some = questions[len(found) : len(found) + _TOGETHER]
            answers = self._client.ask(self._arguments.url, verb, some, kind, within)
            self.seconds += answers.seconds
            for answer in answers.found:
                self._note(verb, answer)
            found.extend(answers.found)
        return found

    def why_not(self, *, is_owed: bool = False) -> str | None:
        """Why nothing is asked now, as `Failure.why`; None if it is."""
        if not is_url(self._arguments.url):
            return "has no valid address (extender.urlPrefix)"
        if self._now + self.seconds < self.left_alone_until:
            failure: str = self._memory[_FAILURE]
            return failure  # the same words as before: messages of pods are written again when they change
        if self.seconds >= self._arguments.budget.total_seconds() * (2 if is_owed else 1):
            return "has used up the time of the cycle (extender.cycleBudget)"
        return None

    def _note(self, verb: str, answer: object) -> None:
        memory = self._memory
        if not isinstance(answer, Failure):
            memory[_IN_A_ROW] = 0
            if memory.pop(_FAILURE, ""):
                log.info("extender answers again", verb=verb)
            return
        memory[_IN_A_ROW] = memory.get(_IN_A_ROW, 0) + 1
        if memory[_IN_A_ROW] >= FAILURES_IN_A_ROW:
            memory[_UNTIL] = self._now + self.seconds + LEFT_ALONE_FOR
        if answer.why != memory.get(_FAILURE):
            memory[_FAILURE] = answer.why
            log.warning("extender failed", verb=verb, why=answer.why, ignorable=self._arguments.ignorable)


Encode = Callable[[object], bytes]
encode: Encode = msgspec.json.Encoder(order="deterministic").encode
"""Bodies of questions."""


def in_short(names: Sequence[str]) -> str:
    """A short text that stands for these names, in any order."""
    return blake2b("\n".join(sorted(names)).encode(), digest_size=6).hexdigest()
