"""Which faults there are, and plans that say when each happens."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Fault(StrEnum):
    """The value is what the table of injected faults calls it."""

    # The answer to a call.
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    CONFLICT = "409"
    GONE = "410"
    TOO_LARGE = "413"
    INVALID = "422"
    TOO_MANY_REQUESTS = "429"
    FAILED = "500"
    UNAVAILABLE = "503"
    RESET = "connection cut before the server had the request"
    ANSWER_LOST = "connection cut after the server had done it"
    ANSWER_CUT = "connection cut in the middle of the answer"
    SLOW = "slow answer"
    SILENT = "no answer at all"
    COMPRESSED = "answer compressed though that was not asked for"
    # An event of a watch.
    DROPPED = "event lost"
    DELAYED = "event late"
    DOUBLED = "event twice"
    SWAPPED = "event after the next one"
    WATCH_CUT = "watch cut between events"
    WATCH_CUT_IN_EVENT = "watch cut in the middle of an event"
    WATCH_EXPIRED = "watch ended with 410"
    WATCH_MUTE = "watch open but silent"


REFUSALS: Mapping[Fault, tuple[int, str]] = {
    Fault.UNAUTHORIZED: (401, "Unauthorized"),
    Fault.FORBIDDEN: (403, "Forbidden"),
    Fault.CONFLICT: (409, "Conflict"),
    Fault.GONE: (410, "Expired"),
    Fault.TOO_LARGE: (413, "RequestEntityTooLarge"),
    Fault.INVALID: (422, "Invalid"),
    Fault.TOO_MANY_REQUESTS: (429, "TooManyRequests"),
    Fault.FAILED: (500, "InternalError"),
    Fault.UNAVAILABLE: (503, "ServiceUnavailable"),
}
"""Status and reason of faults that are an answer by themselves; the server never hears of the call."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the daemon."""

    verb: str
    """get, list, watch, create, update, patch or delete."""
    resource: str
    """With its subresource, e.g. `pods/binding`."""
    namespace: str
    name: str

    @property
    def stream(self) -> str:
        """Calls of one stream are numbered; a plan's n-th answer for a stream is the same in every run."""
        return f"{self.verb} {self.resource}"

    @property
    def group(self) -> str:
        """The row of the table of injected faults."""
        if self.verb == "watch":
            return "watches"
        if self.resource == "pods/binding":
            return "bindings"
        if self.resource == "leases":
            return "leases"
        return "reads" if self.verb in ("get", "list") else "other writes"


@dataclass(frozen=True, slots=True)
class Injection:
    """A fault, and how long it takes (seconds) if it takes time."""

    fault: Fault
    seconds: float = 0.0


class Plan(Protocol):
    """What goes wrong."""

    async def for_call(self, call: Call) -> Injection | None:
        """Asked before a call is forwarded; may wait."""

    async def for_event(self, call: Call) -> Injection | None:
        """Asked for each event of a watch."""


class Calm:
    """Nothing goes wrong."""

    async def for_call(self, call: Call) -> Injection | None:
        return None

    async def for_event(self, call: Call) -> Injection | None:
        return None


Mix = Mapping[Fault, float]
"""Chance of each fault; the rest of 1 is none."""

READS: Mix = {
    Fault.GONE: 0.02,
    Fault.TOO_MANY_REQUESTS: 0.03,
    Fault.FAILED: 0.03,
    Fault.UNAVAILABLE: 0.02,
    Fault.RESET: 0.02,
    Fault.ANSWER_CUT: 0.03,
    Fault.SLOW: 0.02,
    Fault.COMPRESSED: 0.04,
}
WRITES: Mix = {
    Fault.CONFLICT: 0.01,
    Fault.TOO_MANY_REQUESTS: 0.02,
    Fault.FAILED: 0.02,
    Fault.UNAVAILABLE: 0.01,
    Fault.RESET: 0.02,
    Fault.ANSWER_LOST: 0.03,
    Fault.ANSWER_CUT: 0.01,
    Fault.SLOW: 0.02,
    Fault.SILENT: 0.002,
    Fault.COMPRESSED: 0.02,
}
# A leader that cannot renew for its renew deadline must end; one call in twelve fails, so that it mostly goes on.
LEASES: Mix = {
    Fault.TOO_MANY_REQUESTS: 0.02,
    Fault.FAILED: 0.02,
    Fault.RESET: 0.02,
    Fault.ANSWER_LOST: 0.02,
}
EVENTS: Mix = {
    Fault.DROPPED: 0.01,
    Fault.DELAYED: 0.01,
    Fault.DOUBLED: 0.015,
    Fault.SWAPPED: 0.015,
    Fault.WATCH_CUT: 0.004,
    Fault.WATCH_CUT_IN_EVENT: 0.004,
    Fault.WATCH_EXPIRED: 0.003,
    Fault.WATCH_MUTE: 0.002,
}
_GROUPS: Mapping[str, Mix] = {
    "watches": READS,
    "bindings": WRITES,
    "leases": LEASES,
    "reads": READS,
    "other writes": WRITES,
}


@dataclass(frozen=True, slots=True)
class Spells:
    """Runs of calls of one stream that all meet the same fault: a token that has expired, rights that were taken
    away, a disk that is full."""

    faults: tuple[Fault, ...]
    block: int
    """At most one spell in so many calls of a stream."""
    lasts: tuple[int, int]
    """Calls, at least and at most."""


_SPELL_CHANCE = 0.3
# Lists and watches come a few times a minute, writes hundreds of times.
SPELLS: Mapping[str, Spells] = {
    "watches": Spells((Fault.UNAUTHORIZED, Fault.FORBIDDEN, Fault.UNAVAILABLE), 12, (2, 4)),
    "bindings": Spells((Fault.FORBIDDEN, Fault.FAILED, Fault.INVALID), 60, (5, 15)),
    "reads": Spells((Fault.UNAUTHORIZED, Fault.FORBIDDEN, Fault.FAILED), 12, (2, 4)),
    "other writes": Spells((Fault.FORBIDDEN, Fault.TOO_LARGE, Fault.INVALID, Fault.FAILED), 60, (5, 15)),
}

_SLOW_SECONDS = (0.2, 3.0)
_LATE_SECONDS = (0.1, 2.0)
_SILENT_SECONDS = 20.0
"""Longer than the daemon waits for an answer to a write (15 s)."""


class Seeded:
    """Faults by chance, the same ones for the same seed: the n-th call of a stream always meets the same fault."""

    def __init__(
        self, seed: int, *, calls: Mapping[str, Mix] = _GROUPS, events: Mix = EVENTS, silent: float = _SILENT_SECONDS
    ) -> None:
        """`calls`: what may happen to the calls of a group (see `Call.group`); groups that are not named are spared."""
        self._seed = seed
        self._calls, self._events = calls, events
        self._silent = silent
        self._asked: Counter[str] = Counter()

    async def for_call(self, call: Call) -> Injection | None:
        mix = self._calls.get(call.group)
        if mix is None:
            return None
        return self._draw(call.stream, mix) or self._spell(call)

    async def for_event(self, call: Call) -> Injection | None:
        return self._draw(f"event of {call.stream}", self._events)

    def _draw(self, stream: str, mix: Mix) -> Injection | None:
        self._asked[stream] += 1
        rng = random.Random(f"{self._seed}/{stream}/{self._asked[stream]}")
        point = rng.random()
        for fault, chance in mix.items():
            point -= chance
            if point < 0:
                return Injection(fault, self._duration(fault, rng))
        return None

    def _spell(self, call: Call) -> Injection | None:
        """The fault of the spell that the call falls into."""
        if call.group not in SPELLS:
            return None
        spells = SPELLS[call.group]
        block, place = divmod(self._asked[call.stream], spells.block)
        rng = random.Random(f"{self._seed}/{call.stream}/spell/{block}")
        if rng.random() >= _SPELL_CHANCE:
            return None
        start, lasts = rng.randrange(spells.block), rng.randint(*spells.lasts)
        return Injection(rng.choice(spells.faults)) if start <= place < start + lasts else None

    def _duration(self, fault: Fault, rng: random.Random) -> float:
        if fault is Fault.SLOW:
            return rng.uniform(*_SLOW_SECONDS)
        if fault is Fault.DELAYED:
            return rng.uniform(*_LATE_SECONDS)
        return self._silent if fault is Fault.SILENT else 0.0


class Flapping(Calm):
    """Calls for a Lease fail for some seconds, again and again; nothing else does."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._failing = True
        self._left = 0

    async def for_call(self, call: Call) -> Injection | None:
        if call.group != "leases":
            return None
        if self._left == 0:
            self._failing = not self._failing
            # Two calls a second while all is well, one while it is not: about 5 s of each.
            self._left = self._rng.randint(4, 6) if self._failing else self._rng.randint(8, 14)
        self._left -= 1
        return Injection(self._rng.choice(list(LEASES))) if self._failing else None


class Always(Calm):
    """One fault for every call that `matches`, until another plan takes over."""

    def __init__(self, matches: Callable[[Call], bool], fault: Fault, seconds: float = 0.0) -> None:
        self._matches, self._injection = matches, Injection(fault, seconds)

    async def for_call(self, call: Call) -> Injection | None:
        return self._injection if self._matches(call) else None


class Outage(Calm):
    """Calls that `matches` fail with 500 or 503, by chance, the same ones for the same seed; nothing else does.

    `deaf`: watches of such calls that are open already end with their next event, which is lost.
    """

    def __init__(self, seed: int, matches: Callable[[Call], bool], *, deaf: bool = False) -> None:
        self._rng, self._matches, self._deaf = random.Random(seed), matches, deaf

    async def for_call(self, call: Call) -> Injection | None:
        return Injection(self._rng.choice((Fault.FAILED, Fault.UNAVAILABLE))) if self._matches(call) else None

    async def for_event(self, call: Call) -> Injection | None:
        return Injection(Fault.WATCH_CUT) if self._deaf and self._matches(call) else None


class Gate(Calm):
    """Lets the first `passes` calls that match through and holds back the rest until it is opened.

    A call whose client goes away while it waits is never forwarded.
    """

    def __init__(self, matches: Callable[[Call], bool], passes: int = 0) -> None:
        self._matches, self._passes = matches, passes
        self._opened = asyncio.Event()
        self.held: list[Call] = []
        """Who waits now."""

    async def for_call(self, call: Call) -> Injection | None:
        if not self._matches(call) or self._opened.is_set():
            return None
        if self._passes > 0:
            self._passes -= 1
            return None
        self.held.append(call)
        try:
            await self._opened.wait()
        finally:
            self.held.remove(call)
        return None

    def open(self) -> None:
        """Let everything through from now on."""
        self._opened.set()


def is_binding(call: Call) -> bool:
    return call.resource == "pods/binding"


def is_write(call: Call) -> bool:
    """Leases are left out: their loss has tests of its own."""
    return call.verb in ("create", "update", "patch", "delete") and call.group != "leases"


def is_read(call: Call) -> bool:
    """Watches included, Leases not."""
    return call.verb in ("get", "list", "watch") and call.group != "leases"
