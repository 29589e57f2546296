"""Which bindings of our pods are not ours, and whether they show that another scheduler works under our name.

The API server does not keep who bound a pod. So a binding is foreign when a pod that was shown waiting is shown on a
node that we have sent it to at no time.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

ENOUGH: Final = 2
"""Foreign bindings that make a scheduler: a single pod may have been bound by hand. One is enough while a scheduler is
suspected."""
WITHIN: Final = 300.0
"""Seconds within which they must be."""
SETTLE: Final = 5.0
"""Seconds after a predecessor of ours ended in which its last requests may still be carried out."""

_NEVER: Final = float("-inf")


class Sighting(msgspec.Struct, frozen=True):
    """A foreign binding: the pod as namespace/name, its node, and when it was seen (monotonic seconds)."""

    pod: str
    node: str
    at: float


class ForeignBindings:
    """All times are monotonic seconds. Until `count_from`, no binding counts: they are those of our own leader."""

    def __init__(self, *, silence: float) -> None:
        """`silence`: seconds without a foreign binding after which the other scheduler counts as gone."""
        self._silence = silence
        self._from = float("inf")
        self._sent: dict[str, frozenset[str]] = {}
        """UID of a pod that is not shown on a node yet → the nodes that we have sent it to: a request that has failed
        for us may still be carried out."""
        self._seen: deque[Sighting] = deque(maxlen=ENOUGH)
        self._silent_from = _NEVER
        self.is_suspected = False
        """Whether another scheduler may be there without binding anything; until `trust`."""
        self.total = 0
        """Foreign bindings ever counted."""

    def count_from(self, moment: float) -> None:
        """No predecessor of ours can be the source of what is seen from then on."""
        self._from = moment

    def suspect(self) -> None:
        """Another scheduler may be there, although it binds nothing."""
        self.is_suspected = True

    def trust(self) -> None:
        """What we have decided was left to us: no other scheduler wants it."""
        self.is_suspected = False

    def sent(self, uid: str, node: str) -> None:
        """We send this pod to this node."""
        self._sent[uid] = self._sent.get(uid, frozenset()) | {node}

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._sent.pop(uid, None)

    def bound(self, uid: str, pod: str, node: str, now: float) -> bool:
        """A pod of our scheduler name that was shown waiting is shown on a node. Whether this makes another scheduler
        apparent that was not before."""
        if node in self._sent.pop(uid, ()) or now < self._from:
            return False
        self.total += 1
        self._seen.append(Sighting(pod, node, now))
        was_present = self.is_present(now)
        if was_present or self.is_suspected or self._is_enough(now):
            self._silent_from = now + self._silence
            self.is_suspected = True
        return self.is_present(now) and not was_present

    def is_present(self, now: float) -> bool:
        """Whether another scheduler has bound pods of ours lately."""
        return now < self._silent_from

    def silent_in(self, now: float) -> float:
        """Seconds until it counts as gone if it binds no other pod; 0 when there is none."""
        return max(0.0, self._silent_from - now)

    @property
    def last(self) -> Sighting | None:
        """The latest foreign binding."""
        return self._seen[-1] if self._seen else None

    def _is_enough(self, now: float) -> bool:
        return len(self._seen) == ENOUGH and now - self._seen[0].at <= WITHIN
