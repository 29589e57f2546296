"""The queues `root` and `default`: created when they are missing, by the queue controller or else by the scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import structlog

from volcano_py.api.effects import JsonObject
from volcano_py.api.json_values import Reader
from volcano_py.api.names import DEFAULT_QUEUE
from volcano_py.api.objects import ApiObject, Queue
from volcano_py.cluster.kubernetes.http.errors import RequestError
from volcano_py.operator.kube_api import IsActive, KubeApi, created_or_found, queue_path
from volcano_py.operator.queues.states import initial_queues

log = structlog.get_logger(__name__)

_QUEUE: Final = Reader(Queue)
# As Volcano's scheduler does at its start.
_TRIES: Final = 60
_PAUSE: Final = 1.0  # seconds
_PAUSE_AFTERWARDS: Final = 30.0  # seconds; by then an operator has to help


class InitialQueues:
    """A `Sink` for queues; `run` creates what is missing, while `active`.

    `found` gets each queue that the server has shown in an answer.

    Attributes:
        exist: set once the feed has brought all of them, or one could not be created. A decision before that would
            report to all pods of a new cluster that their queue does not exist.
    """

    def __init__(
        self,
        api: KubeApi,
        *,
        active: IsActive,
        default_queue: str = DEFAULT_QUEUE,
        found: Callable[[Queue], None] = lambda _queue: None,
    ) -> None:
        self._api, self._active, self._found = api, active, found
        self._bodies = {str(body["metadata"]["name"]): body for body in initial_queues(default_queue)}
        self._known: set[str] = set()
        self._unseen = set(self._bodies)
        self._wanted = asyncio.Event()
        self.exist = asyncio.Event()

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are."""
        if kind != "Queue":
            return
        names = {obj.metadata.name for obj in objects if isinstance(obj, Queue)}
        for name in self._known - names:
            self.gone(name)
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: new or changed."""
        if isinstance(obj, Queue):
            self._seen(obj.metadata.name)
            self._unseen.discard(obj.metadata.name)
            if not self._unseen:
                self.exist.set()

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: gone."""
        if isinstance(obj, Queue):
            self.gone(obj.metadata.name)

    def gone(self, name: str) -> None:
        """No queue has this name any more."""
        if name in self._known:
            self._known.discard(name)
            self._wanted.set()

    def leadership_gained(self) -> None:
        """To be called when this replica gets the Lease."""
        self._wanted.set()

    async def run(self) -> None:
        """Work until cancelled. To be started when queues have been listed."""
        self._wanted.set()
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._active():
                await self._create_missing()

    async def _create_missing(self) -> None:
        tries = 0
        missing = [body for name, body in self._bodies.items() if name not in self._known]
        while missing and self._active():
            try:
                await self._create(missing[0])
                missing.pop(0)
            except RequestError as error:
                tries += 1
                self.exist.set()
                is_hopeless = tries >= _TRIES
                write = log.error if is_hopeless else log.warning
                write("queue cannot be created", queue=missing[0]["metadata"]["name"], tries=tries, error=str(error))
                await asyncio.sleep(_PAUSE_AFTERWARDS if is_hopeless else _PAUSE)

    async def _create(self, body: JsonObject) -> None:
        name = str(body["metadata"]["name"])
        answer, created = await created_or_found(self._api, queue_path(), body)
        if created:
            log.info("queue created", queue=name)
        try:
            queue = _QUEUE.decode(answer)
        except msgspec.ValidationError:
            self.exist.set()  # it exists, but may stay unreadable, which the feed reports: do not wait for it
            return
        self._seen(name)
        self._found(queue)

    def _seen(self, name: str) -> None:
        if name in self._bodies:
            self._known.add(name)
