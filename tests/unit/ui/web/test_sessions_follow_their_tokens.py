"""A token is asked about again as long as its session lasts, and the session ends with what is answered."""

from __future__ import annotations

import asyncio

import pytest
import structlog.testing

from volcano_py.ui.rights.sight import User
from volcano_py.ui.rights.tokens import Holder, UncheckedError
from volcano_py.ui.web.sessions import CHECKED_FOR, UNANSWERED_FOR, Sessions

ANN = Holder(User("ann", groups=("people",)))


class Server:
    """Says whose a token is; an exception is raised. `asked`: the tokens, as often as they came."""

    def __init__(self) -> None:
        self.answer: Holder | Exception | None = ANN
        self.asked: list[str] = []

    async def holder(self, token: str) -> Holder | None:
        self.asked.append(token)
        await asyncio.sleep(0)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(server: Server, clock: Clock) -> Sessions:
    return Sessions(server.holder, clock)


async def test_a_session_ends_within_a_minute_of_its_token(kept: Sessions, server: Server, clock: Clock) -> None:
    text, _ = kept.begin(ANN, "token")
    server.answer = None
    clock.now += CHECKED_FOR - 1
    assert await kept.visitor(text) is not None
    assert server.asked == []
    clock.now += 1
    with structlog.testing.capture_logs() as logs:
        assert await kept.visitor(text) is None
    server.answer = ANN
    assert await kept.visitor(text) is None, "it does not come back"
    assert server.asked == ["token"]
    assert [each["event"] for each in logs] == ["session ended: its token is no longer accepted"]
    assert "'token'" not in str(logs)


async def test_requests_that_come_together_wait_for_one_answer(kept: Sessions, server: Server, clock: Clock) -> None:
    text, _ = kept.begin(ANN, "token")
    server.answer = None
    clock.now += CHECKED_FOR
    assert await asyncio.gather(*(kept.visitor(text) for _ in range(5))) == [None] * 5
    assert server.asked == ["token"]


async def test_a_token_of_another_user_ends_it_and_other_groups_are_noted(
    kept: Sessions, server: Server, clock: Clock
) -> None:
    text, _ = kept.begin(ANN, "token")
    clock.now += CHECKED_FOR
    server.answer = Holder(User("ann", groups=("few",)))
    found = await kept.visitor(text)
    assert found is not None
    assert found.user.groups == ("few",)
    clock.now += CHECKED_FOR
    server.answer = Holder(User("bob"))
    assert await kept.visitor(text) is None


async def test_without_an_answer_it_goes_on_and_is_asked_about_soon_again(
    kept: Sessions, server: Server, clock: Clock
) -> None:
    text, _ = kept.begin(ANN, "token")
    server.answer = UncheckedError("the API server is away")
    clock.now += CHECKED_FOR
    assert await kept.visitor(text) is not None
    server.answer = None
    assert await kept.visitor(text) is not None
    clock.now += UNANSWERED_FOR
    assert await kept.visitor(text) is None


async def test_who_signs_out_while_it_is_asked_about_has_left(kept: Sessions, server: Server, clock: Clock) -> None:
    text, _ = kept.begin(ANN, "token")
    clock.now += CHECKED_FOR
    asking = asyncio.create_task(kept.visitor(text))
    await asyncio.sleep(0)
    kept.end(text)
    assert await asking is None
