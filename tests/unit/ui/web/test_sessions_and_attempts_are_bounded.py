"""How long sessions last and how many there are, and how failures are forgotten."""

from __future__ import annotations

from volcano_py.ui.rights.sight import User
from volcano_py.ui.rights.tokens import Holder
from volcano_py.ui.web import attempts, sessions
from volcano_py.ui.web.attempts import FORGIVEN_AFTER, Attempts
from volcano_py.ui.web.sessions import LASTS, MOST, MOST_OF_ONE, Sessions


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def sessions_of(holder: Holder | None = None, clock: Clock | None = None) -> Sessions:
    async def holder_of(_token: str) -> Holder | None:
        return holder

    return Sessions(holder_of, clock or Clock())


async def test_a_session_lasts_an_hour_or_as_long_as_the_token() -> None:
    clock, ann = Clock(), Holder(User("ann"))
    kept = sessions_of(ann, clock)
    long, seconds = kept.begin(ann, "token")
    short, fewer = kept.begin(Holder(User("ann"), until=1060.0), "token")
    assert (seconds, fewer) == (LASTS, 60)
    clock.now = 1060.0
    assert await kept.visitor(short) is None
    found = await kept.visitor(long)
    assert found is not None
    assert (found.user.name, found.can_leave) == ("ann", True)
    clock.now = 1000.0 + LASTS
    assert await kept.visitor(long) is None


async def test_the_oldest_sessions_make_room() -> None:
    kept = sessions_of()
    own = [kept.begin(Holder(User("ann")), "token")[0] for _ in range(MOST_OF_ONE + 1)]
    assert [await kept.visitor(text) is not None for text in own] == [False] + [True] * MOST_OF_ONE
    for number in range(MOST - 1):
        kept.begin(Holder(User(f"user-{number}")), "token")
    assert [await kept.visitor(text) is not None for text in own] == [False] * MOST_OF_ONE + [True]


async def test_what_has_ended_is_forgotten_and_no_cookie_is_kept_as_it_is() -> None:
    clock = Clock()
    kept = sessions_of(clock=clock)
    text, _ = kept.begin(Holder(User("ann")), "token-of-ann")
    assert text not in repr(vars(kept))
    assert "token-of-ann" not in repr(vars(kept)), "what is logged or shown by accident has no token"
    clock.now += LASTS
    kept.begin(Holder(User("bob")), "token")
    assert len(kept._kept) == 1
    clock.now += LASTS
    kept.forget()
    assert not kept._kept
    kept.end("unknown")


def test_failures_are_forgotten_one_by_one() -> None:
    clock = Clock()
    tried = Attempts(clock)
    for _ in range(attempts.MOST):
        assert tried.wait("a") == 0
        tried.failed("a")
    assert (tried.wait("a"), tried.wait("b")) == (FORGIVEN_AFTER, 0)
    clock.now += FORGIVEN_AFTER
    assert tried.wait("a") == 0
    tried.failed("a")
    assert tried.wait("a") == FORGIVEN_AFTER
    tried.forgive("a")
    assert tried.wait("a") == 0


def test_so_many_addresses_are_remembered() -> None:
    tried = Attempts(Clock())
    for number in range(attempts._MOST_ADDRESSES + 10):
        tried.failed(str(number))
    assert len(tried._free_at) == attempts._MOST_ADDRESSES
    assert sessions.MOST == 1000
