"""What extenders answer; names are in lower case here, as the line reads them. What is absent or null is Go's zero."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, TypeVar

import msgspec

from volcano_py.api.extender.client import Failure

T = TypeVar("T")

_UNSCHEDULABLE: Final = 2
_MOST: Final = 1e12
"""Scores beyond it count as this much: sums stay exact enough to be compared."""
_PLACE: Final = re.compile(r" \(byte \d+\)")


class PredicateAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Empty `status`: the node may take the pod. `code`: 1 error, 2 unschedulable, 3 unschedulable whatever leaves."""

    status: str | None = ""
    code: int | None = 0

    @property
    def is_resolvable(self) -> bool:
        """Whether the node might take the pod once others have left it."""
        return self.code == _UNSCHEDULABLE


class PrioritizeAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Scores by node."""

    nodescore: dict[str, float] | None = None
    errormessage: str | None = ""

    def score(self, node: str) -> float:
        """0 for a node that is not named."""
        score = (self.nodescore or {}).get(node, 0.0)
        return max(-_MOST, min(score, _MOST)) if not math.isnan(score) else 0.0


class VictimsAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A vote, and tasks of which only the UIDs matter."""

    status: int | None = 0
    victims: list[dict[str, Any]] | None = None

    def uids(self) -> frozenset[str]:
        """Of the victims."""
        return frozenset(uid for task in self.victims or () if isinstance(uid := _uid(task), str) and uid)


class VoteAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """1 permits, -1 rejects, 0 abstains."""

    status: int | None = 0


class OverusedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    overused: bool | None = False


class ReadyAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    status: bool | None = False


class EventAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    errormessage: str | None = ""


def _uid(task: Mapping[str, Any]) -> Any:
    return next((value for key, value in task.items() if key.lower() == "uid"), None)


NO_OBJECTION: Final[Mapping[type, Any]] = {
    PredicateAnswer: PredicateAnswer(),
    PrioritizeAnswer: PrioritizeAnswer({}),
    VictimsAnswer: VictimsAnswer(),
    VoteAnswer: VoteAnswer(),
    OverusedAnswer: OverusedAnswer(),
    ReadyAnswer: ReadyAnswer(status=True),
    EventAnswer: EventAnswer(),
    NoneType: None,
}
"""The answers of an extender that leaves everything to others, by their kinds."""


def read(body: bytes, kind: type[T]) -> T | Failure:
    """The answer in a body. Go's decoder, with which extenders are written, ignores the case of names and fields that
    it does not know."""
    if kind is NoneType:
        return kind()
    try:
        content = msgspec.json.decode(body)
        if not isinstance(content, dict):
            return Failure(f"answered with JSON that is no object, but {type(content).__name__}")
        return msgspec.convert({key.lower(): value for key, value in content.items()}, kind)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        return Failure(f"answered with JSON that does not fit: {_PLACE.sub('', str(error))}")
