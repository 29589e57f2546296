"""Answers that plugins give."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import msgspec

from volcano_py.api.reasons import Reason
from volcano_py.state.task_class import Refusal


class Vote(IntEnum):
    """Tier by tier: a REJECT ends the vote with no, a PERMIT without REJECT in its tier with yes. Else it is yes."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


class Ballot(msgspec.Struct, frozen=True):
    """A vote, with the refusal that explains a REJECT."""

    vote: Vote
    refusal: Refusal | None = None


PERMIT: Final = Ballot(Vote.PERMIT)
ABSTAIN: Final = Ballot(Vote.ABSTAIN)


def reject(reason: Reason, message: str) -> Ballot:
    """A REJECT, with the reason and the sentence that users read."""
    return Ballot(Vote.REJECT, Refusal(reason, message))


class Room(msgspec.Struct, frozen=True):
    """How many more tasks of a class a ceiling lets through and, when that is none, why."""

    count: int
    refusal: Refusal | None = None
    short: tuple[int, int] | None = None
    """(position on the resource axis, units) that must be given back for one more; None when that would not help."""
    ceiling: str = ""
    """The queue above that has the ceiling: any queue below it may give back. Empty: the ceiling is the queue's own."""
    meanwhile: Room | None = None
    """The room until the pods that are leaving are gone; None when it is the same. A task that is promised a place for
    later needs room in `count`, a task that is bound at once in both."""

    @property
    def at_once(self) -> Room:
        """The room for tasks that are bound at once."""
        return self if self.meanwhile is None or self.count <= self.meanwhile.count else self.meanwhile


PLENTY: Final = Room(2**31)
"""No ceiling is near."""
