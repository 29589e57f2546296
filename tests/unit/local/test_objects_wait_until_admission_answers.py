"""`up --admission` creates nothing before the API server asks the webhooks: what is wrong would get in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from volcano_py.local.client import APIError
from volcano_py.local.errors import LocalError
from volcano_py.local.install import admission_answers

REFUSED = APIError("POST", "queues", 403, "Forbidden", "spec.parent: volcano-py-nowhere does not exist")
UNREACHABLE = APIError("POST", "queues", 500, "InternalError", "failed calling webhook")


class Sleepless:
    """A clock on which waiting takes no time."""

    def __init__(self) -> None:
        self.slept = 0.0

    def monotonic(self) -> float:
        return self.slept

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.slept, UTC)

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds


class Server:
    """Answers requests for queues with a parent by `answers`, one after the other and the last for ever, and all others
    with a queue that has `filled` in its spec."""

    def __init__(self, *answers: APIError | None, filled: Mapping[str, Any]) -> None:
        self.answers, self.filled = list(answers), filled
        self.asked = 0

    async def create(self, path: str, body: Mapping[str, Any]) -> Any:
        assert path.endswith("/queues?dryRun=All")
        if "parent" not in body["spec"]:
            return {"spec": self.filled}
        self.asked += 1
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if answer is not None:
            raise answer
        return {"spec": {}}


async def test_it_returns_with_the_first_refusal_by_the_rules() -> None:
    server = Server(None, UNREACHABLE, REFUSED, filled={"reclaimable": True})
    await admission_answers(server, Sleepless())
    assert server.asked == 3


@pytest.mark.parametrize(
    ("answer", "filled", "problem"),
    [
        (None, {}, "it accepts a queue whose parent does not exist"),
        (UNREACHABLE, {}, "failed calling webhook"),
        (REFUSED, {}, "it fills in no defaults"),
    ],
)
async def test_after_a_minute_it_says_what_is_missing(
    answer: APIError | None, filled: Mapping[str, Any], problem: str
) -> None:
    clock = Sleepless()
    with pytest.raises(LocalError, match=problem):
        await admission_answers(Server(answer, filled=filled), clock)
    assert clock.slept >= 59
