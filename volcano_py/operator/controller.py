"""What all controllers share: a queue of keys, worked on one by one while this replica leads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Final, Generic

import structlog

from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, RequestError
from volcano_py.cluster.kubernetes.writing.rest import Rest
from volcano_py.operator.kube_api import IsActive
from volcano_py.operator.work_queue import KeyT, WorkQueue

log = structlog.get_logger(__name__)

_LOG_EVERY: Final = 10  # failures in a row


class Controller(ABC, Generic[KeyT]):
    """Reconciles keys while this replica holds the Lease (`active`); without it, keys are only remembered.

    A subclass puts the key of whatever changed into `_work`, and reads the newest object in `_reconcile`.
    """

    def __init__(
        self,
        name: str,
        namespace: Callable[[KeyT], str],
        *,
        active: IsActive,
        workers: int,
        rest: Rest | None = None,
    ) -> None:
        """`name`, `namespace` and `rest` are those of the `WorkQueue`; `workers`: keys of one namespace at a time."""
        self._active = active
        self._work: WorkQueue[KeyT] = WorkQueue(name, namespace, workers=workers, rest=rest)

    async def run(self) -> None:
        """Work until cancelled. To be started when everything that is followed has been listed."""
        self.leadership_gained()
        await self._work.run(self._turn, on_failure=self._failed)

    def leadership_gained(self) -> None:
        """To be called when this replica gets the Lease."""
        for key in self._keys():
            self._work.add(key)

    async def idle(self) -> None:
        """Returns when no key waits for work, or for a time."""
        await self._work.idle()

    @property
    def backlog(self) -> int:
        """Keys that wait for work, or for a time."""
        return len(self._work)

    @abstractmethod
    def _keys(self) -> Iterable[KeyT]:
        """What a new leader has to look at."""

    @abstractmethod
    async def _reconcile(self, key: KeyT) -> None:
        """Bring the object of this key to what it should be. Errors go to `_failed`."""

    def _failed(self, key: KeyT, error: Exception, failures: int) -> bool:  # noqa: ARG002 - for subclasses
        """Called after this many failures in a row; returns whether to try again."""
        return True

    async def _turn(self, key: KeyT) -> None:
        if self._active():
            await self._reconcile(key)

    def _log_failure(self, event: str, error: Exception, failures: int, **about: str) -> bool:
        """Log the first failure in a row, and every tenth, unless the namespace is being deleted. Whether it did."""
        if isinstance(error, ForbiddenError) and error.namespace_ends:
            log.debug(event, **about, failures=failures, error=str(error))
            return False
        if failures > 1 and failures % _LOG_EVERY:
            return False
        # An error that does not come from the API is a bug: show where.
        trace = None if isinstance(error, RequestError) else error
        log.warning(event, **about, failures=failures, error=str(error), exc_info=trace)
        return True
