"""A cluster for a controller that can be killed at any request: an API server in memory whose watches report at
once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from volcano_py.api.effects import Event
from volcano_py.api.json_values import without_nulls
from volcano_py.api.objects import ApiObject
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.protocol import Sink

EPOCH: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""When a cluster's time begins: a Monday, on the hour."""


class Killed(BaseException):
    """The controller's process is no more."""


class Controller(Sink, Protocol):
    """What is under test."""

    def run(self) -> Awaitable[None]: ...


C = TypeVar("C", bound=Controller)
Kinds = Mapping[str, tuple[str, type]]
"""What the controller watches: by the path of a list, the kind's name for the controller, and its model."""


class KillableCluster(Generic[C]):
    """`api` is a fresh `FakeApi` of the operator's tests; it is taken over."""

    def __init__(self, api: Any, namespace: str, kinds: Kinds) -> None:
        self.api, self._namespace, self._kinds = api, namespace, kinds
        self.events: list[Event] = []
        self.leads = True
        self.calls = 0
        self.killing: tuple[int, bool] | None = None
        """Kill the controller at this request, before it is carried out or (True) before its answer comes."""
        self.reports_of: Callable[[str], bool] = lambda kind: True
        """Whether watches report this kind to the controller."""
        self.controller: C | None = None
        self._task: asyncio.Task[None] | None = None
        self._seen: dict[str, tuple[str, str]] = {}  # path → UID and version
        self._dead = False
        self._born = asyncio.get_running_loop().time()
        self._stamp()
        for verb in ("get", "post", "patch", "delete"):
            self._wrap(verb)

    # What differs between clusters.

    def make(self) -> C:
        """A new controller."""
        raise NotImplementedError

    def came(self, path: str, obj: dict[str, Any]) -> None:
        """An object has come to be."""
        raise NotImplementedError

    # The controller's life.

    def start(self) -> None:
        """A controller process starts: it lists everything, then works."""
        self._dead = False
        self.controller = self.make()
        self._report(everything=True)
        self._task = asyncio.ensure_future(self.controller.run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def revive(self) -> None:
        """A controller that was killed is followed by another one, which lives on."""
        if self._dead:
            await self.stop()
            self.killing = None
            self.start()

    @property
    def is_leading(self) -> bool:
        """Whether the controller may write."""
        return self.leads and not self._dead

    def now(self) -> datetime:
        """Time passes as the event loop's does."""
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time() - self._born)

    def _stamp(self) -> None:
        put = self.api.put

        def put_with_time(path: str, obj: dict[str, Any]) -> dict[str, Any]:
            metadata = obj.setdefault("metadata", {})
            if "creationTimestamp" not in metadata:
                metadata["creationTimestamp"] = f"{self.now():%Y-%m-%dT%H:%M:%SZ}"
            stored: dict[str, Any] = put(path, obj)
            return stored

        self.api.put = put_with_time

    def _wrap(self, verb: str) -> None:
        original = getattr(self.api, verb)

        async def call(path: ApiPath, *arguments: Any) -> bytes:
            if self._dead:
                raise Killed
            self.calls += 1
            number, is_carried_out = self.killing or (0, False)
            due = self.calls == number
            if due and not is_carried_out:
                self._dead = True
                raise Killed
            try:
                answer: bytes = await original(path, *arguments)
            finally:
                self._report()
            if due:
                self._dead = True
                raise Killed
            return answer

        setattr(self.api, verb, call)

    # Objects.

    def of(self, root: str) -> dict[str, dict[str, Any]]:
        """Objects of a kind by their paths."""
        return {path: obj for path, obj in self.api.objects.items() if path.rsplit("/", 1)[0] == root}

    def messages(self, reason: str) -> list[str]:
        """Messages of the events with this reason."""
        return [event.message for event in self.events if event.reason == reason]

    # Watches.

    def _report(self, *, everything: bool = False) -> None:
        """Report the changes to the controller; `everything`: as lists."""
        seen, self._seen = (
            self._seen,
            {
                path: (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])
                for path, obj in self.api.objects.items()
            },
        )
        changed = [path for path, mark in self._seen.items() if seen.get(path) != mark]
        for path in changed:
            if seen.get(path, ("", ""))[0] != self._seen[path][0]:
                self.came(path, self.api.objects[path])
        if self.controller is None:
            return
        reported = {root: (kind, of) for root, (kind, of) in self._kinds.items() if self.reports_of(kind)}
        if everything:
            for root, (kind, of) in reported.items():
                self.controller.replace(
                    kind, [msgspec.convert(obj, of, strict=False) for obj in self.of(root).values()]
                )
            return
        gone = {path: uid for path, (uid, _) in seen.items() if path not in self._seen}
        if changed or gone:
            for root, (kind, of) in reported.items():
                self._report_kind(self.controller, f"{root}/", kind, of, gone, changed)

    def _report_kind(
        self, controller: C, root: str, kind: str, of: type, gone: Mapping[str, str], changed: Sequence[str]
    ) -> None:
        for path, uid in gone.items():
            name = path.removeprefix(root)
            if name != path and "/" not in name:
                metadata = {"name": name, "namespace": self._namespace, "uid": uid}
                controller.delete(kind, msgspec.convert({"metadata": metadata}, of))
        for path in changed:
            if path.startswith(root) and "/" not in path.removeprefix(root):
                # As informers do it: what cannot be read is left out.
                with contextlib.suppress(msgspec.ValidationError):
                    read: ApiObject = msgspec.convert(without_nulls(self.api.objects[path]), of, strict=False)
                    controller.upsert(kind, read)
