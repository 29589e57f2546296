"""The cluster that the page shows: kept by watches of its own, or a capture that never changes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

import structlog

from volcano_py.api import names
from volcano_py.api.objects import ApiObject, metadata_of
from volcano_py.capture.events import events_in
from volcano_py.capture.kinds import CONSEQUENCES, KINDS, of_namespace, unread_elsewhere
from volcano_py.capture.model import BUILT_IN, Capture, CapturedEvent, Unread
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath, field_selector
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import VOLCANO_JOB, ConfigMap, Kind, config_map
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.config.metrics import without_secrets
from volcano_py.framework.registry import Registry
from volcano_py.jobs.group import group_key
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.status import standing_refusal
from volcano_py.state.cluster_state import ClusterState
from volcano_py.ui.board.board import Seen
from volcano_py.ui.board.evictions import MOST, EvictionEvent

T = TypeVar("T", bound=ApiObject)

log = structlog.get_logger(__name__)

EVICTION: Final = Kind(
    "Event",
    ApiPath("v1", "events"),
    EvictionEvent,
    selectors=MappingProxyType({"fieldSelector": field_selector({"reason": "Evict", "involvedObject.kind": "Pod"})}),
)
_LIST_ONE: Final = {"limit": 1}
_SO: Final = {
    EVICTION.name: "evictions are not shown",
    ConfigMap.__name__: "the built-in configuration is shown, and decisions follow from it",
}


class ClusterError(ValueError):
    """Nothing can be shown; the text says why, and what to do."""


class Cluster:
    """A sink for informers (`cluster.protocol.Sink`), and what is made of what they bring.

    Attributes:
        changed: set by every change; the reader clears it.
        number: of changes so far.
    """

    def __init__(
        self,
        source: str,
        registry: Registry,
        *,
        scheduler_names: frozenset[str],
        default_queue: str,
        now: float | None = None,
    ) -> None:
        """`now`: the moment of a capture, in seconds since the epoch; None for a live cluster.

        Raises:
            ClusterError: the built-in configuration is not valid with the installed plugins.
        """
        self.source, self.registry = source, registry
        self.changed = asyncio.Event()
        self.number = 0
        self.unread: tuple[Unread, ...] = ()
        self._rules = (scheduler_names, default_queue)
        self._now = now
        self._state = ClusterState(scheduler_names=scheduler_names, default_queue=default_queue)
        self._objects: dict[str, dict[str, ApiObject]] = {}
        self._evictions: dict[str, EvictionEvent] = {}
        self._refused: dict[str, VolcanoJob] = {}
        self._informers: Informers | None = None
        self._client: KubernetesClient | None = None
        self._history: tuple[CapturedEvent, ...] = ()
        self._configured(default_configuration_text(), BUILT_IN)
        if self.parsed.config is None:
            raise ClusterError(f"the built-in configuration is invalid: {self.parsed.errors[0]}")
        self.configuration = self.parsed.config

    # -- the sink --------------------------------------------------------------------------------------------------

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """These are all objects of the kind."""
        self._objects[kind] = {}
        if kind == VOLCANO_JOB.name:
            self._refused = {}
        self._state.replace(kind, objects)
        for obj in objects:
            self._keep(kind, obj)
        self._changes()

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """The object is new or has changed."""
        self._state.upsert(kind, obj)
        self._keep(kind, obj)
        self._changes()

    def delete(self, kind: str, obj: ApiObject) -> None:
        """The object is gone."""
        if kind == EVICTION.name:
            return  # what has happened has happened, though the server may forget it
        self._state.delete(kind, obj)
        self._objects.get(kind, {}).pop(metadata_of(obj).key, None)
        if isinstance(obj, VolcanoJob):
            self._refused.pop(group_key(obj), None)
        if kind == ConfigMap.__name__:
            self._configured(default_configuration_text(), BUILT_IN)
        self._changes()

    def _keep(self, kind: str, obj: ApiObject) -> None:
        if isinstance(obj, EvictionEvent):
            self._evictions[obj.metadata.key] = obj
            if len(self._evictions) > MOST:
                del self._evictions[min(self._evictions, key=lambda key: self._evictions[key].at)]
        elif isinstance(obj, ConfigMap):
            self._configured(obj.data.get(names.CONFIG_KEY, ""), f"ConfigMap {obj.metadata.key}")
        else:
            self._objects.setdefault(kind, {})[metadata_of(obj).key] = obj
        if isinstance(obj, VolcanoJob):
            self._refused.pop(group_key(obj), None)
            if standing_refusal(obj) is not None:
                self._refused[group_key(obj)] = obj

    def _changes(self) -> None:
        self.number += 1
        self.changed.set()

    def _configured(self, text: str, source: str) -> None:
        self.text = without_secrets(text)
        self.parsed = parse_configuration(self.text, self.registry.catalogue(), source=source)
        if self.parsed.config is not None:
            self.configuration = self.parsed.config

    # -- what is made of it ----------------------------------------------------------------------------------------

    def seen(self) -> Seen:
        """What a board is made of, as of now."""
        behind = self._informers.behind(*self._informers.reflectors) if self._informers is not None else {}
        return Seen(
            snapshot=self._state.snapshot(self._moment),
            configuration=self.configuration,
            text=self.text,
            parsed=self.parsed,
            source=self.source,
            live=self._now is None,
            evictions=tuple(self._evictions.values()),
            unread=tuple(map(str, self.unread)),
            behind=tuple(sorted(behind)),
            refused=dict(self._refused),
        )

    def capture(self) -> Capture:
        """A copy for explanations and trials. `configuration` is the one to use with it: its text may be invalid."""
        scheduler_names, default_queue = self._rules
        return Capture(
            taken=self._moment,
            items=tuple((kind, obj) for kind, objects in self._objects.items() for obj in objects.values()),
            configuration=self.text,
            source=self.parsed.source,
            scheduler_names=scheduler_names,
            default_queue=default_queue,
            unread=self.unread,
        )

    async def events(self, namespace: str) -> tuple[tuple[CapturedEvent, ...], Unread | None]:
        """The events of a namespace, for histories; or why they are missing. Of a capture, all that it has."""
        return (self._history, None) if self._client is None else await events_in(self._client, namespace)

    def objects(self, kind: str, of: type[T]) -> list[T]:
        """All objects of the kind."""
        return [obj for obj in self._objects.get(kind, {}).values() if isinstance(obj, of)]

    @property
    def _moment(self) -> float:
        return time.time() if self._now is None else self._now

    # -- where it comes from ---------------------------------------------------------------------------------------

    @classmethod
    def of_capture(cls, capture: Capture, source: str, registry: Registry) -> Cluster:
        """One that never changes."""
        cluster = cls(
            source,
            registry,
            scheduler_names=capture.scheduler_names,
            default_queue=capture.default_queue,
            now=capture.taken,
        )
        cluster.unread = capture.unread
        cluster._history = capture.events or ()
        cluster._configured(capture.configuration, capture.source)
        for kind, obj in capture.items:
            cluster.upsert(kind, obj)
        return cluster

    @contextlib.asynccontextmanager
    async def following(
        self, client: KubernetesClient, *, config_namespace: str, namespace: str
    ) -> AsyncIterator[None]:
        """Inside, it is kept in step with the API server. Begins when everything that may be read has been listed.

        Kinds that may not be read in all namespaces are read in `namespace`, if that is allowed.

        Raises:
            UnauthorizedError: the login is not accepted.
            UnreachableError: there is no answer.
        """
        wanted = (*KINDS, EVICTION, config_map(config_namespace, names.CONFIG_MAP))
        findings = await asyncio.gather(*(_readable(client, kind, namespace) for kind in wanted))
        self.unread = tuple(unread for _, unread in findings if unread is not None)
        readable = [kind for kind, _ in findings if kind is not None]
        self._client = client
        self._informers = Informers(client, self, readable, on_bad_object=self._cannot_read)
        following = asyncio.create_task(self._informers.run())
        try:
            await self._informers.wait_synced()
            yield
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following

    def _cannot_read(self, kind: str, key: str, _uid: str, error: Exception) -> None:
        found = Unread(f"{kind} {key}", str(error), "it counts as absent")
        self.unread = (*(each for each in self.unread if each.what != found.what), found)
        self._changes()


async def _readable(client: KubernetesClient, kind: Kind, namespace: str) -> tuple[Kind | None, Unread | None]:
    """What of the kind can be read: all of it, that of the namespace, or nothing; and what cannot."""
    try:
        await client.get(kind.path, {**kind.selectors, **_LIST_ONE})
    except ForbiddenError as error:
        why, so = error.message or "forbidden", CONSEQUENCES.get(kind.name, _SO.get(kind.name, ""))
        own = of_namespace(kind, namespace)
        if own is None or not await _is_allowed(client, own):
            return None, Unread(kind.name, why, so)
        return own, unread_elsewhere(kind, namespace, why)
    except NotFoundError:
        is_missed = not (kind.optional or kind is VOLCANO_JOB)
        why, so = f"the cluster does not serve {kind.path}", CONSEQUENCES.get(kind.name, "")
        return None, Unread(kind.name, why, so) if is_missed else None
    return kind, None


async def _is_allowed(client: KubernetesClient, kind: Kind) -> bool:
    try:
        await client.get(kind.path, {**kind.selectors, **_LIST_ONE})
    except ForbiddenError:
        return False
    return True
