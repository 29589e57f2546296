"""The frozen picture of the cluster that one cycle works on."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec
from msgspec.structs import replace

from volcano_py.api.wording.explain_gangs import Strangers
from volcano_py.state.budgets import Budget
from volcano_py.state.cards.held import HeldTable
from volcano_py.state.classes.class_split import split_by_company
from volcano_py.state.devices.picture import NO_DEVICES, DevicePicture
from volcano_py.state.infos import JobInfo, NodeInfo, QueueInfo, TaskInfo
from volcano_py.state.nodes.loads import Load
from volcano_py.state.numa.topologies import NO_NUMA, NumaPicture
from volcano_py.state.queues.quotas import Quota
from volcano_py.state.shards.shards import ShardView
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.term_book import TermPicture
from volcano_py.state.topology.hyper_nodes import HyperNodeInfo
from volcano_py.state.unreadable_values import NOTHING_UNREADABLE, Picture
from volcano_py.state.volumes.storage import Storage


class Phase(IntEnum):
    """PodGroup phases as column values; NONE is an empty phase, which counts as Pending."""

    NONE = 0
    PENDING = 1
    INQUEUE = 2
    RUNNING = 3
    UNKNOWN = 4
    COMPLETED = 5

    @property
    def text(self) -> str:
        return _TEXTS[self]

    @property
    def is_admitted(self) -> bool:
        """Whether enqueue has admitted the PodGroup."""
        return self > Phase.PENDING

    @classmethod
    def of(cls, text: str) -> Phase:
        """The phase of that name; an unknown name counts as no phase."""
        return _PHASES.get(text, cls.NONE)


PHASES = tuple(Phase)
"""By their column values: a lookup here takes a quarter of what a call of the enum takes."""
_TEXTS = {phase: phase.name.capitalize() if phase else "" for phase in Phase}
_PHASES = {text: phase for phase, text in _TEXTS.items()}


class Snapshot(msgspec.Struct, frozen=True):
    """Numbers are the ledger's copy; infos are lists by row. The maker never changes any of it afterwards.

    `nodes_version` changes whenever a node's labels, taints, allocatable or existence change; what a class may use is
    worth keeping while it stays the same. `offers_version` stays the same when only images have changed, or nodes that
    pods name and that do not exist; `queues_version` while queues do, but for what they hold.
    """

    number: int
    ledger: Ledger
    tasks: list[TaskInfo | None]
    jobs: list[JobInfo | None]
    job_keys: list[str]
    nodes: list[NodeInfo]
    classes: list[TaskClass | None]
    queues: Mapping[str, QueueInfo]
    queue_names: list[str]
    namespaces: list[str]
    roles: list[str]
    """Names of task roles by their number in the task table."""
    sub_groups: list[str]
    """Sub-groups by their number in the task table; `state/topology/limits.py` reads them."""
    namespace_weights: Mapping[str, int]
    nodes_version: int
    now: float
    """Seconds since the epoch; virtual in simulations."""
    budgets: Mapping[str, tuple[Budget, ...]] = msgspec.field(default_factory=dict)
    """PodDisruptionBudgets by namespace."""
    terms: TermPicture = msgspec.field(default_factory=TermPicture)
    """Which pod terms match which pods."""
    storage: Storage = msgspec.field(default_factory=Storage)
    """What volumes there are, and where more can be had."""
    devices: DevicePicture = NO_DEVICES
    """What devices there are, and which claims have them."""
    quotas: Mapping[str, tuple[Quota, ...]] = msgspec.field(default_factory=dict)
    """ResourceQuotas without scopes by namespace."""
    loads: Mapping[str, Load] = msgspec.field(default_factory=dict)
    """Node name → how much of it is really in use, for nodes that were measured, however long ago."""
    offers_version: int = 0
    queues_version: int = 0
    hyper_nodes: tuple[HyperNodeInfo, ...] = ()
    """By name."""
    hyper_nodes_version: int = 0
    """Another number whenever one of them has changed."""
    strangers: Mapping[str, Strangers] = msgspec.field(default_factory=dict)
    """PodGroups of ours that pods of other schedulers name as well, by namespace/name."""
    changes: int = 0
    """How many changes have arrived that the scheduler has not made itself, be they worth a cycle or not."""
    unreadable_tasks: Picture[int] = NOTHING_UNREADABLE
    """Annotations and labels of our pods that cannot be read. `unreadable_jobs`: the same of PodGroups."""
    unreadable_jobs: Picture[int] = NOTHING_UNREADABLE
    unreadable_objects: Picture[tuple[str, str]] = NOTHING_UNREADABLE
    """Values of nodes, ResourceQuotas, NodeShards, Numatopologies and queues that cannot be read, by kind and name."""
    left_queues: frozenset[str] = frozenset()
    """Queues with PodGroups of the scheduler `volcano`, where this is another one: that one writes what they hold."""

    shard: ShardView | None = None
    """The shard of this scheduler; None: all nodes and queues are its own."""

    cards: HeldTable | None = None
    """Which parts of cards placed pods hold; None: none do."""

    numa: NumaPicture = NO_NUMA
    """CPUs of nodes by NUMA node."""

    @property
    def hard_shard(self) -> str:
        """The shard whose nodes are all there are for this scheduler; "" where it may use others."""
        return self.shard.sharding.name if self.shard is not None and self.shard.sharding.is_hard else ""

    def with_classes_split(self) -> Snapshot:
        """The same, whose ledger is changed, with classes split by the terms that match their pods."""
        return replace(self, classes=split_by_company(self.ledger, self.classes, self.terms))
