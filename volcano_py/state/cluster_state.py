"""The scheduler's live picture of the cluster: objects come in as they are listed and watched, snapshots go out.

Touched by one thread only. What a node has in use is always a function of the pods known here: pods of a node that is
unknown are kept, a finished pod leaves at once, and a pod that was handed to the binder counts as placed until the
API server says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

import numpy as np

from volcano_py.api import names
from volcano_py.api.devices.claims import ClaimMeta
from volcano_py.api.effects import (
    NO_ANNOTATIONS,
    Bind,
    ClaimBinding,
    DeviceBinding,
    ObjectRef,
    PodCondition,
    PodGroupStatusUpdate,
)
from volcano_py.api.numa.topologies import NUMATOPOLOGY
from volcano_py.api.objects import ApiObject, Condition, Pod, metadata_of
from volcano_py.api.shards.node_shards import NODE_SHARD
from volcano_py.api.shards.sharding import Sharding
from volcano_py.state.budgets import Budgets
from volcano_py.state.cards.held import HeldCards
from volcano_py.state.claims.pod_claims import PodClaims
from volcano_py.state.classes.class_book import ClassBook
from volcano_py.state.foreign_groups import Both
from volcano_py.state.groups import Groups, PriorityClasses
from volcano_py.state.infos import NodeInfo, QueueInfo
from volcano_py.state.namespaces import Namespaces
from volcano_py.state.nodes.loads import Load, Loads
from volcano_py.state.nodes.nodes import Nodes
from volcano_py.state.numa.topologies import Numatopologies
from volcano_py.state.pods import Pods
from volcano_py.state.queues.charges import Charges
from volcano_py.state.queues.queues import Queues, Quotas
from volcano_py.state.shards.shards import Shards
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import ResourceAxis
from volcano_py.state.table.change import Change
from volcano_py.state.table.interner import Interner
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.stores import Store
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.terms.spread_defaults import SpreadDefaults
from volcano_py.state.terms.term_book import TermBook
from volcano_py.state.terms.term_shares import TermShares
from volcano_py.state.topology.hyper_nodes import HyperNodes
from volcano_py.state.unreadable_values import UnreadableOfObjects

ChangeListener = Callable[[Change], None]
"""Called after a change that is worth a cycle, with what it means."""

_PRIORITY_CLASS: Final = "PriorityClass"


class ClusterState:
    """See the module. `scheduler_names`: this scheduler's; `default_queue` takes PodGroups that name no queue;
    `follows_jobs`: Volcano Jobs are passed on as well, all of them; `sharding`: the shard that it has, None for all."""

    def __init__(
        self,
        *,
        scheduler_names: Iterable[str] = (names.DEFAULT_SCHEDULER_NAME,),
        default_queue: str = names.DEFAULT_QUEUE,
        follows_jobs: bool = False,
        sharding: Sharding | None = None,
        on_change: ChangeListener = lambda _change: None,
    ) -> None:
        self.scheduler_names = frozenset(scheduler_names)
        self.default_queue = default_queue
        self.on_change = on_change
        self.status_waits: Callable[[str], bool] = lambda _uid: False
        """Whether the status of the PodGroup of this UID was handed over and is not written yet."""
        self.ledger = Ledger(ResourceAxis())
        self._terms = TermBook()
        self._classes = ClassBook(self.ledger, TermShares(self._terms))
        self._queue_slots = Interner()
        self._unreadable = UnreadableOfObjects()
        self._queues = Queues(self.ledger, self._queue_slots, self._unreadable)
        self._quotas = Quotas(self._unreadable)
        self._budgets = Budgets()
        priorities = PriorityClasses()
        self._groups = Groups(
            self.ledger,
            self._queue_slots,
            priorities,
            default_queue,
            self.scheduler_names,
            follows_jobs=follows_jobs,
        )
        self._nodes = Nodes(self.ledger, self._unreadable)
        self._shards = None if sharding is None else Shards(sharding, self._use_nodes(sharding), self._unreadable)
        self._charges = Charges(self.ledger, self._queue_slots)
        self._cards = HeldCards()
        self._claims = PodClaims(self.ledger, self._classes)
        # (a share of its own: default constraints must not use up what pods may ask for)
        self._spread_defaults = SpreadDefaults(self.ledger, self._terms, TermShares(self._terms))
        self._pods = Pods(
            self.ledger,
            self._classes,
            self._terms,
            self._claims,
            self._spread_defaults,
            self._nodes,
            self._groups,
            self._charges,
            self._cards,
            self.scheduler_names,
        )
        # in this order, as terms come from the others
        self._put_off = (self._spread_defaults, self._classes, self._groups, self._terms)
        self._loads = Loads(self.ledger, self._nodes)
        self._hyper_nodes = HyperNodes()
        self._numa = Numatopologies(self._pods.row_on, self._unreadable)
        owners, selections = self._groups.foreign.owners, self._spread_defaults.selections.stores
        self._stores: dict[str, Store] = {
            **self._claims.volumes.stores,
            **self._claims.devices.stores,
            **owners,
            **selections,
            **{kind: Both(owners[kind], selections[kind]) for kind in owners.keys() & selections},
            "Pod": self._pods,
            "Node": self._nodes,
            "Namespace": Namespaces(self._terms),
            "PodGroup": self._groups,
            "Queue": self._queues,
            "ResourceQuota": self._quotas,
            "PodDisruptionBudget": self._budgets,
            "NodeMetrics": self._loads,
            "HyperNode": self._hyper_nodes,
            NUMATOPOLOGY: self._numa,
            _PRIORITY_CLASS: priorities,
        }
        if self._shards is not None:
            self._stores[NODE_SHARD] = self._shards
        self._snapshots = self._changes = 0

    def _use_nodes(self, sharding: Sharding) -> Callable[[frozenset[str]], None]:
        """What is to be done with the nodes of the own shard: where they are all there are, a shard without a
        NodeShard has none."""
        if not sharding.is_hard:
            return lambda _own: None
        self._nodes.use_only(frozenset())
        return self._nodes.use_only

    # -- objects as they come ------------------------------------------------------------------------------------

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """An object was listed, added or changed. Kinds that scheduling does not read are ignored."""
        if (store := self._stores.get(kind)) is not None:
            self._tell(store.upsert(obj), kind)

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`upsert` for each of these, in their order; pods are less work together."""
        if kind == "Pod":
            self._tell(self._pods.upsert_all(cast(Sequence[Pod], objects)), kind)
        elif (store := self._stores.get(kind)) is not None:
            self._tell(max(map(store.upsert, objects), default=Change.NONE), kind)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """An object was deleted. One of the same name with another UID stays."""
        if (store := self._stores.get(kind)) is not None:
            self._tell(store.delete(obj), kind)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """These are all the objects of that kind: what is not among them is gone."""
        if (store := self._stores.get(kind)) is None:
            return
        seen = {(metadata_of(obj).key, metadata_of(obj).uid) for obj in objects}
        for obj in store.known():
            if (metadata_of(obj).key, metadata_of(obj).uid) not in seen:
                self.delete(kind, obj)
        for obj in objects:
            self.upsert(kind, obj)

    def measured(self, loads: Mapping[str, Load]) -> None:
        """How much of each node was found to be in use; nodes that are missing keep what was known of them."""
        self._tell(self._loads.measured(loads))

    def _tell(self, change: Change, kind: str = "") -> None:
        self._changes += change is not Change.NONE
        self._pass_on(change, kind)

    def _pass_on(self, change: Change, kind: str = "") -> None:
        change = max(change, self._claims.settle())
        if change <= Change.LATER:
            return
        if kind == _PRIORITY_CLASS:
            self._groups.reprioritise()
        self.on_change(change)

    # -- what the scheduler itself has done ------------------------------------------------------------------------

    def assume_bound(
        self,
        uid: str,
        node: str,
        claims: Sequence[ClaimBinding] = (),
        devices: Sequence[DeviceBinding] = (),
        *,
        queue: str = "",
        annotations: Mapping[str, str] = NO_ANNOTATIONS,
    ) -> bool:
        """The pod was handed to the binder, charged to `queue` ("": that of its PodGroup), with `annotations` that its
        binding writes. False when it must not be:
        it is no longer there or waits no more, or the node has gone or has no room any more (others bind pods, too,
        while a cycle decides), or one of its `claims` or a volume for it is taken, or one of its claims to `devices` or
        a device for it."""
        if claims and not self._claims.volumes.may_assume(claims, node):
            return False
        if devices and not self._claims.devices.may_assume(uid, devices):
            return False
        if not self._pods.assume_bound(uid, node, queue, annotations):
            return False
        self._claims.assume(uid, claims, devices, node)
        return True

    def assume_all_bound(self, binds: Sequence[Bind]) -> list[bool]:
        """`assume_bound` for each of these, in their order; all at once where nothing is in the way."""
        if any(bind.claims or bind.devices for bind in binds):
            return [
                self.assume_bound(
                    bind.pod.uid, bind.node, bind.claims, bind.devices, queue=bind.queue, annotations=bind.annotations
                )
                for bind in binds
            ]
        return self._pods.assume_all_bound([(bind.pod.uid, bind.node, bind.queue, bind.annotations) for bind in binds])

    def restore_bound(self, binds: Sequence[Bind]) -> None:
        """These pods were handed to the binder before: they keep their places, though others may have taken the room
        since, and bound more to the nodes than they have."""
        for bind in binds:
            if self._pods.restore_bound(bind.pod.uid, bind.node, bind.queue, bind.annotations):
                self._claims.assume(bind.pod.uid, bind.claims, bind.devices, bind.node)

    def bind_failed(self, uid: str, *, retry_at: float) -> None:
        """The pod is not bound after all; it may be tried again from `retry_at` (seconds since the epoch)."""
        self._claims.volumes.forget(uid)
        self._claims.devices.forget(uid)
        self._tell(self._pods.bind_failed(uid, retry_at))

    def assume_evicted(self, uid: str) -> bool:
        """The pod is being evicted. False when it is no longer there."""
        return self._pods.assume_evicted(uid)

    def evict_failed(self, uid: str, *, retry_at: float) -> None:
        """The pod stays where it is, unless the API server has said that it is leaving; it may be evicted again from
        `retry_at` (seconds since the epoch)."""
        self._tell(self._pods.evict_failed(uid, retry_at))

    def pause(self, uid: str, *, until: float) -> None:
        """The pod is left alone until then (seconds since the epoch), as after a failure."""
        self._pods.pause(uid, until)

    def date_promise(self, uid: str, since: float) -> None:
        """The node that the pod is promised was first seen then (seconds since the epoch)."""
        self._pods.date_promise(uid, since)

    def assume_status(self, update: PodGroupStatusUpdate, now: float) -> None:
        """A PodGroup's status was handed to the status writer at `now` (seconds since the epoch)."""
        self._pass_on(self._groups.assume_status(update, now))

    def assume_reported(self, condition: PodCondition) -> None:
        """A pod's PodScheduled condition was handed to the status writer."""
        self._pods.assume_reported(condition)

    def condition_write_failed(self, condition: PodCondition) -> None:
        """The condition was not written after all."""
        self._pods.condition_write_failed(condition)

    # -- what there is -------------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether no work was put off until a snapshot."""
        return all(keeper.is_settled for keeper in self._put_off)

    def settle_some(self) -> None:
        """Do a slice of that work, some 10 ms."""
        for keeper in self._put_off:
            if not keeper.is_settled:
                keeper.settle_some()
                return

    def snapshot(self, now: float, former: Snapshot | None = None) -> Snapshot:
        """An independent copy of everything a cycle needs. `former` is an earlier one that nobody uses any more: its
        tables and lists become those of the new one, so that only what has changed is copied."""
        return self.copy(now, former).with_classes_split()

    def copy(self, now: float, former: Snapshot | None = None) -> Snapshot:
        """The same, with pods of one class not yet split by profile: `Snapshot.with_classes_split` may do that in
        another thread."""
        self._snapshots += 1
        self._groups.expire(now, self.status_waits)
        self._pods.follow_clock(now)
        self._spread_defaults.settle()
        self._classes.settle()
        self._groups.settle()
        self._charges.settle()
        self._pods.regroup()
        groups, pods, terms = self._groups, self._pods, self._terms.picture()
        ledger = self.ledger.copy(None if former is None else former.ledger)
        ledger.charge_waiting()
        infos, queues_version, elsewhere = self._own_queues(ledger)
        left, shared = ledger.leave_foreign()
        jobs = groups.infos.next_copy(None if former is None else former.jobs)
        groups.infos.differs_in((*elsewhere, *left))
        for row in (*elsewhere, *left):
            jobs[row] = None
        is_volcano = names.DEFAULT_SCHEDULER_NAME in self.scheduler_names
        left_queues = set() if is_volcano else {self._queue_slots.names[ledger.jobs.queue[row]] for row in left}
        if len(infos) < len(self._queues):
            left_queues.add(names.ROOT_QUEUE)  # what is in other shards is not known
        return Snapshot(
            number=self._snapshots,
            changes=self._changes,
            ledger=ledger,
            tasks=pods.infos.next_copy(None if former is None else former.tasks),
            jobs=jobs,
            job_keys=groups.keys.next_copy(None if former is None else former.job_keys),
            nodes=self._nodes.infos.copy(),
            classes=self._classes.all(),
            queues=infos,
            queue_names=self._queue_slots.names.copy(),
            namespaces=groups.namespaces.names.copy(),
            roles=pods.roles.names.copy(),
            sub_groups=pods.sub_groups.names.copy(),
            namespace_weights=self._quotas.namespace_weights(),
            nodes_version=self._nodes.version,
            now=now,
            budgets=self._budgets.by_namespace(),
            terms=terms,
            storage=self._claims.volumes.storage(),
            devices=self._claims.devices.picture(),
            quotas=self._quotas.by_namespace(),
            loads=self._loads.by_node(),
            offers_version=self._nodes.offers_version,
            queues_version=queues_version,
            hyper_nodes=self._hyper_nodes.all(),
            hyper_nodes_version=self._hyper_nodes.version,
            strangers=groups.strangers(shared),
            unreadable_tasks=pods.unreadable.picture(),
            unreadable_jobs=groups.unreadable.picture(),
            unreadable_objects=self._unreadable.picture(),
            left_queues=frozenset(left_queues),
            shard=None if self._shards is None else self._shards.view(),
            cards=self._cards.picture(None if former is None else former.cards),
            numa=self._numa.picture(),
        )

    def _own_queues(self, ledger: Ledger) -> tuple[dict[str, QueueInfo], int, list[int]]:
        """The queues whose jobs are decided here, another number whenever they are others, and the rows of the
        PodGroups that are left to other shards."""
        infos, version = self._queues.infos(), self._queues.version
        if self._shards is None:
            return infos, version, []
        ours = self._shards.are_ours([*self._queue_slots.names, self.default_queue], infos, version)
        own = {name: info for name, info in infos.items() if ours[info.slot]}
        return own, version + self._shards.version, ledger.leave(ours)

    def shard_of_queue(self, name: str) -> str:
        """The other shard that decides the jobs of the queue, which need not exist; "" when this scheduler does."""
        if self._shards is None:
            return ""
        return self._shards.other_shard(name, self._queues.infos(), self._queues.version)

    def has_usable(self, name: str) -> bool:
        """Whether the node exists and is for this scheduler's pods."""
        return self._nodes.usable_row(name) is not None

    def awaiting(self, names: frozenset[str]) -> frozenset[str]:
        """Those of these nodes to which pods are on their way: handed to the binder, and not confirmed yet."""
        tasks = self.ledger.tasks
        rows = np.unique(tasks.node[np.flatnonzero(tasks.status == TaskStatus.BINDING)])
        return frozenset(self._nodes.infos[row].name for row in rows.tolist() if row != NOWHERE) & names

    def node(self, name: str) -> NodeInfo | None:
        """The node of that name, as it is now; None when there is none."""
        row = self._nodes.existing_row(name)
        return None if row is None else self._nodes.infos[row]

    def vacant_claim(self, key: str) -> ClaimMeta | None:
        """Metadata of the ResourceClaim (namespace/name) as it was seen last, if it had neither devices nor users."""
        return self._claims.devices.vacant(key)

    def extended_claims(self, namespace: str, pod: str) -> list[ObjectRef]:
        """ResourceClaims for extended resources of the pod with that UID, as they were seen last."""
        return self._claims.devices.extended_claims(namespace, pod)

    def has_pod(self, uid: str) -> bool:
        """Whether the pod counts: it is this scheduler's and has not ended outside a PodGroup, or it has a node."""
        return self._pods.has(uid)

    def is_shown_waiting(self, uid: str) -> bool:
        """Whether the API server shows this pod without a node, whatever was decided about it since."""
        return self._pods.is_shown_waiting(uid)

    def leaves_alone(self, group: str) -> bool:
        """Whether the PodGroup (namespace/name) belongs to another scheduler."""
        return self._groups.is_left(group)

    def is_any_placed(self) -> bool:
        """Whether a pod of this scheduler has a node: it has run here before."""
        return self._pods.is_any_placed()

    def next_retry(self, after: float) -> float | None:
        """The first moment past `after` (seconds since the epoch) at which a pod whose binding or eviction failed may
        be tried again; None when there is none."""
        return self._pods.next_retry(after)

    def pod_condition(self, uid: str, condition_type: str) -> Condition | None:
        """A condition the pod is known to have; only PodScheduled=False is remembered."""
        known = self._pods.condition(uid)
        return known if known is not None and known.type == condition_type else None

    def drift(self) -> int:
        """0 when every sum follows from the pods, else how far they are off."""
        return self.ledger.drift()

    def audit(self) -> int:
        """Correct sums that do not follow from the pods, and report the change; returns the drift there was."""
        drift = self.ledger.put_right()
        if drift:
            self._tell(Change.DECISION)
        return drift
