"""What admission knows of queues, PodGroups and namespaces: kept by the feeds, and read again where a mistake would
last.

A view a moment old is good enough for work, which is checked again whenever it is scheduled. It is not for the tree of
queues: there each edit is checked by a list that was begun after the edit came. Edits that come together share a list.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec
import structlog

from volcano_py.admission.queue_world import QueueFacts, QueueWorld
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ApiObject, Namespace, PodGroup, Queue
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ApiError, RequestError
from volcano_py.cluster.kubernetes.http.paths import field_selector
from volcano_py.operator.kube_api import hyper_node_path, pod_group_path, queue_path

log = structlog.get_logger(__name__)

KINDS: Final = ("Queue", "PodGroup", "Namespace")
"""The kinds to feed in."""

_FINISHED: Final = "Completed"
_READ_WITHIN: Final = 3.0  # seconds; the API server waits ten for the answer it asked us for
# Seconds until an admitted edit shows in lists, or never will because something else refused it.
_PROMISED_FOR: Final = 2.0
_MOST_COUNTED: Final = 100  # PodGroups of a queue that a message counts
_POD_GROUPS: Final = pod_group_path("")
_QUEUE: Final = Reader(Queue)
_HYPER_NODE: Final = Reader(HyperNode)
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class _List(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None


class AdmissionView:
    """A `Sink` for `KINDS`; `default_queue` is the queue of PodGroups that name none."""

    def __init__(self, client: KubernetesClient, default_queue: str) -> None:
        self._client, self._default_queue = client, default_queue
        self._queues: dict[str, QueueFacts] = {}
        self._groups: dict[str, str] = {}  # PodGroups that are not finished → their queue
        self._counts: Counter[str] = Counter()
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._world: QueueWorld | None = None
        self._last_read: dict[bytes, QueueFacts] = {}  # JSON of each queue of the last list → what it says
        self._promised: dict[str, tuple[float, QueueFacts]] = {}  # queue → until when, and as what
        self._running: asyncio.Task[dict[str, QueueFacts]] | None = None
        self._next: asyncio.Task[dict[str, QueueFacts]] | None = None

    # What is fed in.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        match kind:
            case "Queue":
                self._queues.clear()
            case "PodGroup":
                self._groups.clear()
                self._counts.clear()
            case "Namespace":
                self._namespaces.clear()
        self._world = None
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: new or changed."""
        match obj:
            case Queue():
                facts = self._queues[obj.metadata.name] = QueueFacts.of(obj)
                self._world = None
                _, promised = self._promised.get(facts.name, (0.0, None))
                # Other events are older, or this edit will never come: its time runs out.
                if promised is not None and promised.says_the_same_as(facts):
                    self.forget_promise(facts.name)
            case PodGroup():
                finished = obj.status.phase == _FINISHED
                self._count(obj.metadata.key, "" if finished else obj.spec.queue or self._default_queue)
            case Namespace():
                self._namespaces[obj.metadata.name] = obj.metadata.annotations

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: gone."""
        match obj:
            case Queue():
                self._queues.pop(obj.metadata.name, None)
                self._world = None
            case PodGroup():
                self._count(obj.metadata.key, "")
            case Namespace():
                self._namespaces.pop(obj.metadata.name, None)

    def _count(self, key: str, queue: str) -> None:
        """The PodGroup is in this queue and not finished; an empty queue: it does not count."""
        before = self._groups.get(key, "")
        if before == queue:
            return
        self._world = None
        if before:
            del self._groups[key]
            self._counts[before] -= 1
            if not self._counts[before]:
                del self._counts[before]
        if queue:
            self._groups[key] = queue
            self._counts[queue] += 1

    # What is asked.

    def namespace_annotations(self, namespace: str) -> Mapping[str, str]:
        """Those of the namespace as far as is known."""
        return self._namespaces.get(namespace, {})

    def world(self) -> QueueWorld:
        """As the feeds have it, a moment old."""
        if self._world is None:
            self._world = QueueWorld(dict(self._queues), dict(self._counts))
        return self._world

    async def fresh(self, *queues_with_work: str) -> QueueWorld:
        """The queues by a list begun after this call, and whether the named ones have PodGroups.

        Raises:
            RequestError: the API server does not answer.
        """
        queues = await self._list_shared()
        counts = {name: await self._count_groups(name) for name in queues_with_work if name}
        # Last, so that nothing can be promised between here and the verdict.
        return QueueWorld(self._with_promised(queues), {**self._counts, **counts})

    async def tiers(self, names: Collection[str]) -> Mapping[str, int]:
        """HyperNode → tier, of those of these names that exist. Nothing is known of them while the API server does not
        answer: this serves warnings alone."""
        if not names:
            return {}
        try:
            answer = await self._client.request("GET", hyper_node_path(), within=_READ_WITHIN, urgent=True)
        except RequestError as error:
            log.warning("HyperNodes cannot be listed", error=str(error))
            return {}
        found = (_tier(raw) for raw in msgspec.json.decode(answer, type=_List).items or ())
        return {name: tier for name, tier in found if name in names}

    def promise(self, queue: Queue) -> None:
        """An edit has just been admitted: reviews that come before it is stored count with it."""
        until = asyncio.get_running_loop().time() + _PROMISED_FOR
        self._promised[queue.metadata.name] = until, QueueFacts.of(queue)

    def _with_promised(self, listed: dict[str, QueueFacts]) -> dict[str, QueueFacts]:
        now = asyncio.get_running_loop().time()
        self._promised = {name: each for name, each in self._promised.items() if each[0] > now}
        return {**listed, **{name: queue for name, (_, queue) in self._promised.items()}}

    def forget_promise(self, name: str) -> None:
        """The edit is stored, or the queue is being deleted."""
        self._promised.pop(name, None)

    async def _list_shared(self) -> dict[str, QueueFacts]:
        """A list that is under way was begun too early; the next one serves all callers that wait by then."""
        if self._next is None:
            self._next = asyncio.create_task(self._list_after(self._running), name="queues for admission")
        return await asyncio.shield(self._next)

    async def _list_after(self, earlier: asyncio.Task[dict[str, QueueFacts]] | None) -> dict[str, QueueFacts]:
        if earlier is not None:
            await asyncio.wait((earlier,))
        self._running, self._next = self._next, None
        answer = await self._client.request("GET", queue_path(), within=_READ_WITHIN, urgent=True)
        found = msgspec.json.decode(answer, type=_List).items or ()
        read: dict[bytes, QueueFacts] = {}
        for raw in map(bytes, found):
            # Few of thousands have changed since the last list, and reading amounts exactly takes its time.
            facts = self._last_read.get(raw) or _facts(raw)
            if facts is not None:
                read[raw] = facts
        self._last_read = read
        return {facts.name: facts for facts in read.values()}

    async def _count_groups(self, queue: str) -> int:
        """PodGroups of the queue that are not finished, as the API server has them now, up to `_MOST_COUNTED`."""
        selector = f"{field_selector({'spec.queue': queue})},status.phase!={_FINISHED}"
        params: dict[str, str | int] = {"fieldSelector": selector, "limit": _MOST_COUNTED}
        try:
            answer = await self._client.request(
                "GET", _POD_GROUPS, params=params, accept=_METADATA_ONLY, within=_READ_WITHIN, urgent=True
            )
        except ApiError as error:
            if error.status != 400:
                raise
            # A CRD without selectable fields, such as Volcano's own. What the informer has must do.
            return self._counts.get(queue, 0)
        return len(msgspec.json.decode(answer, type=_List).items or ())


def _tier(raw: bytes | msgspec.Raw) -> tuple[str, int]:
    """Name and tier of a HyperNode; no name for one that cannot be read."""
    try:
        hyper_node = _HYPER_NODE.decode(bytes(raw))
    except msgspec.ValidationError:
        return "", 0
    return hyper_node.metadata.name, hyper_node.spec.tier


def _facts(raw: bytes) -> QueueFacts | None:
    """None for a queue that cannot be read; the feed has reported it."""
    try:
        return QueueFacts.of(_QUEUE.decode(raw))
    except msgspec.ValidationError:
        return None
