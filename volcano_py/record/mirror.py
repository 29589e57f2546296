"""What a segment begins with: all objects as they are, and what the scheduler has done that they do not show yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.objects import ApiObject, Pod, metadata_of
from volcano_py.record.entries import (
    AssumedBound,
    AssumedEvicted,
    AssumedReported,
    AssumedStatus,
    BindFailed,
    Deleted,
    Entry,
    EvictFailed,
    Looked,
    Measured,
    Paused,
    PromisedSince,
    ReportFailed,
    Upserted,
)
from volcano_py.record.promises import Promises
from volcano_py.state.nodes.loads import Load


class _Done(msgspec.Struct, frozen=True, gc=False):
    """What the scheduler did about an object, and the object as it was then."""

    entry: Entry
    then: Upserted


class Mirror:
    """Follows the entries. It holds objects as JSON, some 1 KB for a pod."""

    def __init__(self) -> None:
        self._uids: dict[str, dict[str, str]] = {}
        """Kind → namespace/name → UID."""
        self._shown: dict[str, Upserted] = {}
        """UID → the object as it came last."""
        self._loads: dict[str, Load] = {}
        self._own: dict[str, dict[str, _Done]] = {}
        """UID → topic → the last of the scheduler's own doings, in their order."""
        self._promises = Promises()
        self._gone_nodes: dict[str, tuple[Upserted, Deleted]] = {}
        """Deleted nodes to which pods were being bound, by name: their last state, and their end."""
        self._takers: dict[type[Entry], Callable[[Any], None]] = {
            Looked: self._looked,
            Measured: self._measured,
            AssumedBound: self._assumed_bound,
            BindFailed: partial(self._failed, topic="bind"),
            EvictFailed: partial(self._failed, topic="evict"),
            AssumedEvicted: lambda entry: self._put(entry.uid, "evict", entry),
            AssumedStatus: lambda entry: self._put(entry.update.group.uid, "status", entry),
            AssumedReported: self._reported,
            ReportFailed: lambda entry: self._put(entry.condition.pod.uid, "report", entry),
        }

    def object(self, entry: Upserted, obj: ApiObject) -> None:
        """The entry is about this object."""
        if isinstance(obj, Pod) and (uid := obj.metadata.uid) in self._shown and type(entry) is Upserted:
            self._shown[uid] = entry  # most entries
            self._pod(uid, obj)
            return
        metadata = metadata_of(obj)
        known, uid = self._uids.setdefault(entry.kind, {}), metadata.uid or f"{entry.kind} {metadata.key}"
        before = known.get(metadata.key)
        if isinstance(entry, Deleted):
            if before is not None and (not metadata.uid or before == uid):
                if entry.kind == "Node" and metadata.name in self._awaited_nodes():
                    self._gone_nodes[metadata.name] = self._shown[before], entry
                self._forget(known.pop(metadata.key))
            return
        if before is not None and before != uid:
            self._forget(before)
        known[metadata.key], self._shown[uid] = uid, entry
        if entry.kind == "Node":
            self._gone_nodes.pop(metadata.name, None)
        if isinstance(obj, Pod):
            self._pod(uid, obj)

    def _awaited_nodes(self) -> set[str]:
        """Names of nodes to which pods are being bound."""
        binds = (topics["bind"].entry for topics in self._own.values() if "bind" in topics)
        return {bind.node for entry in binds if isinstance(entry, AssumedBound) for bind in entry.binds}

    def _pod(self, uid: str, pod: Pod) -> None:
        own = self._own.get(uid)
        if (node := pod.status.nominated_node_name) or not self._promises.are_none:
            waits = not pod.spec.node_name and not (own and "bind" in own)
            if not self._promises.shows(uid, node, waits=waits):
                self._drop(uid, "promise")
        if own is None:
            return
        if pod.spec.node_name and CHARGED_QUEUE in pod.metadata.annotations:
            self._drop(uid, "bind", "report")  # it shows where it is, and for which queue

    def _drop(self, uid: str, *topics: str) -> None:
        known = self._own.get(uid)
        if known is None:
            return
        for topic in topics:
            known.pop(topic, None)
        if not known:
            del self._own[uid]

    def _forget(self, uid: str) -> None:
        self._shown.pop(uid, None)
        self._own.pop(uid, None)
        self._promises.forget(uid)

    def own(self, entry: Entry) -> None:
        """Any other entry."""
        if (take := self._takers.get(type(entry))) is not None:
            take(entry)

    def _looked(self, entry: Looked) -> None:
        self._promises.looked(entry.now)
        self._go_on_waiting(entry)

    def _measured(self, entry: Measured) -> None:
        self._loads.update(entry.loads)

    def _assumed_bound(self, entry: AssumedBound) -> None:
        for bind in entry.binds:
            uid = bind.pod.uid
            if uid in self._own:
                self._put(uid, "bind", AssumedBound((bind,), before=True))
            elif (shown := self._shown.get(uid)) is not None:
                self._own[uid] = {"bind": _Done(AssumedBound((bind,), before=True), shown)}

    def _failed(self, entry: BindFailed | EvictFailed, topic: str) -> None:
        if topic in self._own.get(entry.uid, {}):
            self._drop(entry.uid, topic)
            self._put(entry.uid, "pause", Paused(entry.uid, entry.retry_at))

    def _reported(self, entry: AssumedReported) -> None:
        """A promise stays when a later condition is without one."""
        uid, node = entry.condition.pod.uid, entry.condition.nominated_node
        if not node or uid not in self._shown:
            self._put(uid, "report", entry)
            return
        self._promises.makes(uid, node)
        self._drop(uid, "report")
        self._put(uid, "promise", entry)

    def _go_on_waiting(self, looked: Looked) -> None:
        """Statuses that still wait to be written count as if they were sent then."""
        for uid in looked.waits:
            done = self._own.get(uid, {}).get("status")
            if done is not None:
                self._own[uid]["status"] = replace(done, entry=replace(done.entry, now=looked.now))

    def _put(self, uid: str, topic: str, entry: Entry) -> None:
        if (shown := self._shown.get(uid)) is None:
            return  # the state knows no such object either
        topics = self._own.setdefault(uid, {})
        topics.pop(topic, None)
        topics[topic] = _Done(entry, shown)

    def entries(self) -> Iterator[Entry]:
        """What brings an empty state to where this is."""
        awaited = self._awaited_nodes() if self._gone_nodes else set()
        self._gone_nodes = {name: gone for name, gone in self._gone_nodes.items() if name in awaited}
        yield from (node for node, _ in self._gone_nodes.values())
        for uids in self._uids.values():
            for uid in uids.values():
                done = next(iter(self._own.get(uid, {}).values()), None)
                yield self._shown[uid] if done is None else done.then
        if self._loads:
            yield Measured(self._loads)
        for uid, topics in self._own.items():
            yield from _in_turn(topics, self._shown[uid])
        yield from (end for _, end in self._gone_nodes.values())
        if since := self._promises.since:
            yield PromisedSince(since)


def _in_turn(topics: dict[str, _Done], last: Upserted) -> Iterator[Entry]:
    """What was done, each on the object as it was then; the first of these objects is there."""
    there = next(iter(topics.values())).then
    for done in topics.values():
        if done.then is not there:
            yield done.then
            there = done.then
        yield done.entry
    if last is not there:
        yield last
