"""The tables of the page. Their fields, in camelCase, are those of the JSON that the browser gets."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from volcano_py.api.report import Amounts


class Row(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base: camelCase on the wire, defaults left out."""


class ClusterRow(Row, frozen=True):
    """The cluster as a whole. `moment`: seconds since the epoch. `idle` is that of nodes that take pods; `promised` is
    what admitted jobs may still take."""

    moment: float
    source: str
    """Which cluster or file it is."""
    nodes: int
    allocatable: Amounts
    used: Amounts
    idle: Amounts
    promised: Amounts
    running: int
    """Pods of the scheduler's jobs that have a node."""
    waiting: int
    """And those that have none."""
    reclaims: bool
    """Whether an action takes back what queues lend."""
    live: bool = True
    recorded: bool = False
    """Whether the timeline is that of a record."""
    unread: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    """Kinds whose watch is broken: they are shown as they were."""
    use_shown: bool = True
    """Whether it is shown how full nodes are."""
    hidden: tuple[str, ...] = ()
    """What this user may not see, as sentences."""


class QueueRow(Row, frozen=True):
    """One queue. `order`: its place in the drawn tree. What is absent of `capability` is unlimited."""

    name: str
    order: int
    parent: str = ""
    depth: int = 0
    state: str = ""
    weight: int = 1
    share: float = 0.0
    allocated: Amounts = {}
    request: Amounts = {}
    promised: Amounts = {}
    guarantee: Amounts = {}
    deserved: Amounts = {}
    capability: Amounts = {}
    borrowed: Amounts = {}
    """Held beyond what is deserved."""
    lent: Amounts = {}
    """Deserved and asked for, but not held."""
    reclaimable: bool = True
    leaf: bool = True
    running: int = 0
    """Jobs in it and below it that do not wait."""
    waiting: int = 0
    problem: str = ""
    ignored: tuple[str, ...] = ()


class JobRow(Row, frozen=True):
    """One PodGroup, or pods that wait without one, or a Volcano Job that does (not `has_group`). `created`: seconds
    since the epoch.

    `state`: Running, Partly running, Waiting, Starting (the next cycle binds it), Completed, or New (no cycle has seen
    it yet).
    """

    key: str
    """namespace/name of the PodGroup."""
    queue: str
    state: str
    owner: str = ""
    """Kind and name of its controller, if it is known by that (`api.wording.owned`)."""
    minimum: int = 0
    placed: int = 0
    waiting: int = 0
    finished: int = 0
    reason: str = ""
    message: str = ""
    priority: int = 0
    created: float = 0.0
    allocated: Amounts = {}
    has_group: bool = True


class NodeRow(Row, frozen=True):
    """One node. `domains`: the HyperNodes that it is in, from the widest to the nearest."""

    name: str
    allocatable: Amounts
    used: Amounts
    pods: int
    domains: tuple[str, ...] = ()
    zone: str = ""
    rack: str = ""
    closed: bool = False
    taints: tuple[str, ...] = ()


class EvictionRow(Row, frozen=True):
    """One pod that was evicted. `at`: seconds since the epoch; `claimant`: the pod that needed its place."""

    key: str
    pod: str
    at: float
    action: str = ""
    claimant: str = ""
    why: str = ""


class PluginRow(Row, frozen=True):
    """A plugin at its place: `says` has the switches and arguments that differ from the defaults."""

    name: str
    says: Mapping[str, str] = {}


class FindingRow(Row, frozen=True):
    """What is wrong with the configuration, and where (counted from 1; 0: unknown)."""

    severity: str
    path: str
    line: int
    message: str


class ConfigurationRow(Row, frozen=True):
    """The scheduler's configuration. `in_use`: whether it is valid; else all is shown by the last valid one."""

    source: str
    text: str
    in_use: bool
    actions: tuple[str, ...] = ()
    tiers: tuple[tuple[PluginRow, ...], ...] = ()
    findings: tuple[FindingRow, ...] = ()
    ignored: tuple[str, ...] = ()
    """Fields of queues that it does not use."""


class Sample(Row, frozen=True):
    """One moment of the timeline. `at`: seconds since the epoch."""

    at: float
    shares: Mapping[str, float]
    """Queue below root → the largest part of the cluster that it holds of any resource."""
    waiting: Mapping[str, int]
    """Reason → jobs that wait for it."""
    used: Mapping[str, float]
    """Resource → part of it in use."""
    cycle: int = 0
    """The scheduler's, of a record; else 0."""


Tables = Mapping[str, Mapping[str, Row]]
"""Table → key → row: cluster, queues, jobs, nodes, evictions, configuration, timeline."""
