"""What one scheduling cycle did and saw, as a value: metrics, logs, `simulate`, `dump` and replay read it."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import msgspec

from volcano_py.api.reasons import Reason

Amounts = Mapping[str, int]
"""Resource name → whole units; cpu in millicores, memory in bytes, `pods` and devices as counts."""


class QueueReport(msgspec.Struct, frozen=True):
    """One queue at the end of a cycle. A dimension that is absent is unlimited (ceilings) or zero (sums)."""

    name: str
    weight: int = 1
    parent: str = ""
    state: str = "Open"
    allocated: Amounts = msgspec.field(default_factory=dict)
    request: Amounts = msgspec.field(default_factory=dict)
    deserved: Amounts = msgspec.field(default_factory=dict)
    capability: Amounts = msgspec.field(default_factory=dict)
    real_capability: Amounts = msgspec.field(default_factory=dict)
    guarantee: Amounts = msgspec.field(default_factory=dict)
    """What is reserved: as much of the queue's guarantee as can be kept, and what is kept for the queues below."""
    guarantee_not_kept: Amounts = msgspec.field(default_factory=dict)
    """What the spec says beyond that."""
    ignored: tuple[str, ...] = ()
    """Sentences about fields of its spec that the configuration does not use."""
    inqueue: Amounts = msgspec.field(default_factory=dict)
    share: float = 0.0
    overused: bool = False
    pod_groups: Mapping[str, int] = msgspec.field(default_factory=dict)
    """PodGroup phase → how many."""


class NamespaceShare(msgspec.Struct, frozen=True):
    """What a namespace holds of the cluster."""

    share: float
    """The largest part it holds of any resource."""
    weight: float = 1.0

    @property
    def weighted(self) -> float:
        return self.share / self.weight if self.weight > 0 else inf


class TierUse(msgspec.Struct, frozen=True):
    """Jobs that are kept together in the network and whose smallest domain with all their pods is of one tier."""

    name: str
    """Of the tier; "" for none."""
    jobs: int = 0
    domains: int = 0
    """The HyperNodes that their pods are in, the nearest of each node, summed over the jobs."""


class PendingJob(msgspec.Struct, frozen=True):
    """A PodGroup that does not run, and the one reason reported for it.

    `queue` is "" for one that does not exist, though pods name it.
    """

    name: str
    queue: str
    phase: str
    reason: Reason
    message: str
    pending: int
    created: float = 0.0
    """Seconds since the epoch; of the oldest waiting pod where the PodGroup does not exist."""


class CycleReport(msgspec.Struct, frozen=True):
    """Durations are in seconds."""

    cycle: str
    number: int
    started: float
    duration: float
    snapshot_duration: float = 0.0
    open_duration: float = 0.0
    actions: Mapping[str, float] = msgspec.field(default_factory=dict)
    plugins_open: Mapping[str, float] = msgspec.field(default_factory=dict)
    plugins_close: Mapping[str, float] = msgspec.field(default_factory=dict)
    predicate_seconds: tuple[float, ...] = ()
    """Of each look of a class of pods at all nodes: what the predicates took."""
    scoring_seconds: tuple[float, ...] = ()
    """The same for the scores."""
    nodes: int = 0
    tasks: int = 0
    jobs: int = 0
    binds: int = 0
    evictions: int = 0
    pipelined: int = 0
    queues: Mapping[str, QueueReport] = msgspec.field(default_factory=dict)
    queues_as_found: Mapping[str, QueueReport] = msgspec.field(default_factory=dict)
    """The same before the actions; only where asked for."""
    missing_queues: Mapping[str, Amounts] = msgspec.field(default_factory=dict)
    """Queue that does not exist → what the pods hold that are charged to it."""
    namespaces: Mapping[str, NamespaceShare] = msgspec.field(default_factory=dict)
    job_shares: Mapping[str, float] = msgspec.field(default_factory=dict)
    """PodGroup (namespace/name) → the largest part it holds of any resource; only where asked for."""
    network: Mapping[str, TierUse] = msgspec.field(default_factory=dict)
    """Tier → the jobs placed in it."""
    pending: tuple[PendingJob, ...] = ()
    unschedulable_tasks: int = 0
    """Pods that were tried without success in this cycle; 0 in a cycle that only updates statuses."""
    plugin_errors: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Plugin name → calls that raised, or answered nonsense, in this cycle."""
    action_errors: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Action name → how often it raised in this cycle."""
    pipelined_tasks: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Pod (namespace/name) → node whose resources are still being released for it."""
    look_again_at: float = 0.0
    """When the cycle's own work continues (seconds since the epoch), though nothing changes; 0 for never."""
    recheck_at: float = 0.0
    """When an answer changes by the clock (a window opens), in the same unit. Simulations do not wait for it."""
    seed: int = 0
    """Seed of the random order among equal nodes; replay needs it."""
    remarks: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Plugin name → why it has done nothing in this cycle, "" if it has done something; of those that say so."""
