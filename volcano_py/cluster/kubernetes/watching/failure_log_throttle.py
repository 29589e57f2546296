"""Logs that a kind of objects cannot be followed: once for each error, not once for each attempt."""

from __future__ import annotations

from typing import Final

import structlog

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.errors import NotFoundError, RequestError, TooManyRequestsError

log = structlog.get_logger(__name__)

# Seconds. A server that has just started, or has just got the resource, asks all clients to come back in a moment.
_MOMENT: Final = 10.0

_HINT_NOT_FOUND: Final = "is its CustomResourceDefinition installed?"


class FailureLogThrottle:
    """For one kind. `clock` measures how long an error has lasted."""

    def __init__(self, kind: str, clock: Clock) -> None:
        self._kind, self._clock = kind, clock
        self._error = ""
        self._since = 0.0
        self._has_warned = False

    def failed(self, error: RequestError) -> None:
        """An attempt has failed: log it, unless the same error was logged before."""
        now, is_new = self._clock.monotonic(), str(error) != self._error
        if is_new:
            self._error, self._since, self._has_warned = str(error), now, False
        if isinstance(error, TooManyRequestsError) and now - self._since < _MOMENT:
            level = "info" if is_new else "debug"
        else:
            level = "debug" if self._has_warned else "warning"
            self._has_warned = True
        hint = {"hint": _HINT_NOT_FOUND} if isinstance(error, NotFoundError) else {}
        getattr(log, level)("cannot watch; retrying", kind=self._kind, error=str(error), **hint)

    def recovered(self) -> None:
        self._error = ""
