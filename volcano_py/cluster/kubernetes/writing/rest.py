"""How long a slot rests after a write, so that the API server has time for others.

The statuses, events and PodGroups of one namespace with thousands of pods take minutes to write. Several at a time,
one after the other, they take so much of a small API server that the pods of other namespaces are created and shown
late. With a rest after each, they take a sixth of that, and the slower the server answers, the slower they come.

Nothing waits for most of these. What a namespace does wait for, such as the steps of its Jobs, rests only while other
namespaces have such work, too.
"""

from __future__ import annotations

from typing import Final

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.writing.sharing import Sharing

TIMES: Final = 5.0
"""The rest is so many times as long as the work was."""
LONGEST: Final = 1.0
"""Seconds."""


class Rest:
    """Of the slots of one kind of work."""

    def __init__(self, clock: Clock, *, sharing: Sharing | None = None) -> None:
        """With `sharing`, slots rest only while several namespaces have work."""
        self._clock, self._sharing = clock, sharing
        self._is_over = False

    def begin(self) -> float:
        """The moment at which work begins, for `after`."""
        return self._clock.monotonic()

    async def after(self, began: float) -> None:
        """Rest after work that began then."""
        seconds = min(LONGEST, TIMES * (self._clock.monotonic() - began))
        if seconds > 0 and self._is_due():
            await self._clock.sleep(seconds)

    def _is_due(self) -> bool:
        return not self._is_over and (self._sharing is None or self._sharing.is_shared())

    def end(self) -> None:
        """No slot rests from now on: the process ends, and what is left is to be written before."""
        self._is_over = True
