"""Whose turn it is to have a place held, and whose is over.

It is kept between cycles, and in a condition of the PodGroup, from which a restarted scheduler takes it up again. Later
edits of the condition change nothing: a user who may edit a PodGroup may edit its status.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from volcano_py.api.names import PLACE_HELD
from volcano_py.api.objects import Condition
from volcano_py.plugins.reservation.places import Places
from volcano_py.state.infos import JobInfo
from volcano_py.state.snapshot import Snapshot

HELD: Final = "Held"
LAPSED: Final = "Lapsed"
STARTED: Final = "Started"
GAVE_WAY: Final = "GaveWay"

# Entries of deleted PodGroups are dropped when there are more than this, and more than PodGroups.
_SPARE_ENTRIES: Final = 1000


class Turn(msgspec.Struct, frozen=True, eq=False):
    """One job's.

    Attributes:
        uid, key, row: of the PodGroup.
        priority: the job's, if jobs of a higher one go before it; None if priorities order nothing.
        since: when it began (seconds since the epoch).
        until: when it lapses.
        places: what is held for it; None while it has no pods, or after a restart.
    """

    uid: str
    key: str
    row: int
    priority: int | None
    since: float
    until: float
    places: Places | None = None


class Turns:
    """See the module; `memory` is kept from cycle to cycle."""

    def __init__(self, memory: dict[str, Any], snapshot: Snapshot) -> None:
        self._memory, self._snapshot = memory, snapshot
        is_first = not memory
        self._lapsed: dict[str, float] = memory.setdefault("lapsed", {})
        self._in_vain: dict[str, float] = memory.setdefault("in vain", {})
        if is_first:
            self._restore()
        self._forget_those_gone()

    @property
    def current(self) -> Turn | None:
        """Of the job for which a place is held."""
        turn: Turn | None = self._memory.get("turn")
        return turn

    @current.setter
    def current(self, turn: Turn | None) -> None:
        self._memory["turn"] = turn

    def lapse(self, uid: str, now: float) -> None:
        self._lapsed[uid] = now

    def lapsed_at(self, uid: str) -> float:
        """When the job's last turn lapsed, 0 if none has."""
        return self._lapsed.get(uid, 0.0)

    def lapses(self) -> list[float]:
        """When turns have lapsed."""
        return [*self._lapsed.values()]

    def pass_over(self, uid: str, until: float) -> None:
        """No place can be held for the job; it is not tried again before `until`. What could change that brings a cycle
        of its own, so none is asked for."""
        self._in_vain[uid] = until

    def is_passed_over(self, uid: str, now: float) -> bool:
        return self._in_vain.get(uid, 0.0) > now

    def _restore(self) -> None:
        """Take up what conditions say. Of several turns, of which all but one are forged, the oldest goes on."""
        found: list[Turn] = []
        for row, info in enumerate(self._snapshot.jobs):
            condition = None if info is None else _condition(info)
            if info is None or condition is None or condition.last_transition_time is None:
                continue
            moment = min(condition.last_transition_time.timestamp(), self._snapshot.now)
            if condition.status == "True":
                found.append(Turn(info.ref.uid, info.key, row, None, since=moment, until=float("inf")))
            elif condition.reason == LAPSED:
                self._lapsed[info.ref.uid] = moment
        self.current = min(found, key=lambda turn: (turn.since, turn.key), default=None)

    def _forget_those_gone(self) -> None:
        for times in (self._lapsed, self._in_vain):
            if len(times) > max(_SPARE_ENTRIES, len(self._snapshot.jobs)):
                known = {info.ref.uid for info in self._snapshot.jobs if info is not None}
                for uid in times.keys() - known:
                    del times[uid]


def condition(status: str, reason: str, message: str, moment: float) -> Condition:
    """The condition of a PodGroup that has, or had, the turn; `moment` is when it got or lost it."""
    at = datetime.fromtimestamp(moment, UTC).replace(microsecond=0)
    return Condition(type=PLACE_HELD, status=status, reason=reason, message=message, last_transition_time=at)


def _condition(info: JobInfo) -> Condition | None:
    return next((each for each in info.conditions if each.type == PLACE_HELD), None)
