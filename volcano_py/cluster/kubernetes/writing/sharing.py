"""Whether several namespaces have had work lately, so that what is done for one delays another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from volcano_py.cluster.kubernetes.clock import Clock

SHARED_FOR: Final = 10.0
"""Seconds for which a namespace counts after its last work."""


class Sharing:
    """Of one kind of work."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._worked: OrderedDict[str, float] = OrderedDict()
        """Namespace → when it last had work, by the monotonic clock; the earliest first."""

    def note(self, namespaces: Iterable[str]) -> None:
        """These namespaces have work now."""
        now = self._clock.monotonic()
        for namespace in namespaces:
            self._worked[namespace] = now
            self._worked.move_to_end(namespace)

    def is_shared(self) -> bool:
        """Whether more than one has had work lately."""
        now = self._clock.monotonic()
        while self._worked and now - next(iter(self._worked.values())) > SHARED_FOR:
            self._worked.popitem(last=False)
        return len(self._worked) > 1
