"""Explanations as values. Their fields are those of the JSON output."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from volcano_py.api.report import Amounts


class _Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base: camelCase on the wire, defaults left out."""


class Now(_Part, frozen=True):
    """How a workload stands. `state`: Running, Partly running, Waiting, or Starting, when the scheduler's next cycles
    start it. `since`: RFC 3339, "" when no condition says it. `evictions`: why the next cycles evict pods of it.
    `ignored`: annotations, labels and fields of the PodGroup and its pods that cannot be read; `ignored_of_queues`: the
    same of its queue and of those above it. `others`: how the other PodGroups of a workload with several stand.
    `hints`: what its user may not expect. `lost_nodes`: its nodes that do not exist any more or are not ready.
    `reported`: the reason is the one that the scheduler has written, because too little could be read to decide again;
    the explanation then has a history, and no other part."""

    state: str
    running: int
    wanted: int
    reason: str = ""
    message: str = ""
    since: str = ""
    nodes: Mapping[str, int] = {}
    """Node → pods of it there."""
    evictions: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ignored_of_queues: tuple[str, ...] = ()
    others: str = ""
    hints: tuple[str, ...] = ()
    lost_nodes: tuple[str, ...] = ()
    reported: bool = False


class Ahead(_Part, frozen=True):
    """A job that has its turn earlier. `created`: seconds since the epoch."""

    name: str
    priority: int
    created: float
    pods: int


class Position(_Part, frozen=True):
    """Places count from 1. `ahead` has the first five of those before it in its queue, `before` what they ask for.
    `created`: seconds since the epoch."""

    queue: str
    place: int
    waiting: int
    priority: int
    queue_place: int
    queues: int
    queue_share: float
    created: float = 0.0
    queue_priority: int = 0
    ahead: tuple[Ahead, ...] = ()
    before: Amounts = {}


class Limit(_Part, frozen=True):
    """One limit: `used` + `asked` must not be above `limit` (None: unlimited), in the unit of `report.Amounts`.

    Of queues, `promised` has what admitted jobs may still use, `deserved` what the queue deserves (None: nothing says),
    and `keptForOthers` what the guarantees of other queues leave less of `limit`, or of the cluster.
    """

    kind: str
    """gang, quota, queue, cluster, nodes or object."""
    name: str
    resource: str = ""
    asked: int = 0
    used: int = 0
    limit: int | None = None
    promised: int = 0
    deserved: int | None = None
    kept_for_others: int = 0
    note: str = ""
    binding: bool = False


class Near(_Part, frozen=True):
    """A node, and what it lacks for one pod more. `refusal`: why it takes none however free it is."""

    node: str
    lacks: Amounts = {}
    refusal: str = ""


class Domain(_Part, frozen=True):
    """The best part of the network of one tier ("" is the whole cluster), and for how many of the pods it has room that
    the workload still needs. `allowed`: whether the workload may use it."""

    name: str
    tier: int
    room: int
    needed: int
    allowed: bool
    tier_name: str = ""


class Nodes(_Part, frozen=True):
    """What nodes say to the pod `pod`: first refusal → how many nodes; the three nearest ones. `domains`: of a workload
    that is kept together in the network, the best domain of each tier, the narrowest first."""

    pod: str
    total: int
    takes: int
    refusals: Mapping[str, int] = {}
    nearest: tuple[Near, ...] = ()
    domains: tuple[Domain, ...] = ()


class Remedy(_Part, frozen=True):
    """One change with which the workload starts. The scheduler has decided so over a changed copy."""

    kind: str
    text: str


class Holder(_Part, frozen=True):
    """A job that holds what the workload lacks, and how its queue stands. `stays`: why its pods are not evicted for the
    workload; empty where they may be, but that would not make enough room."""

    job: str
    queue: str
    pods: int
    priority: int
    holds: Amounts
    queue_allocated: Amounts
    queue_deserved: Amounts
    stays: str = ""


class Forecast(_Part, frozen=True):
    """The earliest start, if everything ends as declared and nothing else comes. `at`: RFC 3339, "" where there is
    none; `seconds`: how long that is from now; `after`: the PodGroups, or pods without one, whose end opens the place.

    `why`: why there is none, or what the forecast rests on. `undeclared`: pods that run and do not say when they end.
    """

    at: str = ""
    seconds: int = 0
    after: tuple[str, ...] = ()
    why: str = ""
    undeclared: int = 0


class Entry(_Part, frozen=True):
    """One condition or event of an object, such as `Pod team/train-0`, or of several pods that say the same. `at`: RFC
    3339; `since`: of the first one, where there were several."""

    at: str
    object: str
    text: str
    since: str = ""


class WorkloadExplanation(_Part, frozen=True):
    """All about one workload. A part that has nothing to say is null or empty."""

    name: str
    now: Now
    position: Position | None = None
    limits: tuple[Limit, ...] = ()
    nodes: Nodes | None = None
    remedies: tuple[Remedy, ...] = ()
    tried_all: bool = True
    """Whether all remedies there are were tried: in a large cluster, the last ones may be left out."""
    holders: tuple[Holder, ...] = ()
    forecast: Forecast | None = None
    history: tuple[Entry, ...] = ()
    unread: tuple[str, ...] = ()
    """What could not be read, and what follows from it."""


class CronJobExplanation(_Part, frozen=True):
    """One CronJob, and the Jobs of it that have not finished: `jobs` explained, `more` only named. `state`: Active,
    Suspended, Invalid (`problem`: why), Deleting, or "" where the CronJob itself could not be read. `last`, `next`:
    RFC 3339, "" for none; `seconds`: how long it is until then. `concurrency`: what its Jobs mean for the next one.
    `notes`: why a Job of it is not explained."""

    name: str
    state: str = ""
    schedule: str = ""
    time_zone: str = ""
    problem: str = ""
    last: str = ""
    next: str = ""
    seconds: int = 0
    concurrency: str = ""
    notes: tuple[str, ...] = ()
    jobs: tuple[WorkloadExplanation, ...] = ()
    more: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """What could not be read, and what follows from it."""


class Standing(_Part, frozen=True):
    """How one queue stands. What is absent of `capability` is unlimited."""

    queue: str
    state: str
    allocated: Amounts
    deserved: Amounts
    capability: Amounts = {}
    guarantee: Amounts = {}
    share: float = 0.0


class Borrower(_Part, frozen=True):
    """A queue that holds more than it deserves. `over`: by how much; `back`: how much of that its pods hold that may be
    evicted, where the configuration takes anything back at all."""

    queue: str
    over: Amounts
    reclaimable: bool
    back: Amounts = {}


class QueueExplanation(_Part, frozen=True):
    """One queue. `lent`: what it deserves and does not hold; `short`: what it asks for of that; `borrowers`: the queues
    that hold something of it."""

    standing: Standing
    children: tuple[Standing, ...] = ()
    waiting: int = 0
    lent: Amounts = {}
    short: Amounts = {}
    borrowers: tuple[Borrower, ...] = ()
    note: str = ""
    invalid: tuple[str, ...] = ()
    """Why no job of it starts, as the events of it and of the queues above it say."""
    ignored: tuple[str, ...] = ()
    """What cannot be read or used of it and of the queues above it."""
    unread: tuple[str, ...] = ()


class DevicesOfNode(_Part, frozen=True):
    """The devices of one driver. `used`: those that claims have; None where that is not for the reader."""

    driver: str
    count: int
    used: int | None


class NumaNode(_Part, frozen=True):
    """A NUMA node by its `number`, and its CPUs. `free`: those that pods may get for themselves; None where that is not
    for the reader."""

    number: int
    cpus: int
    free: int | None


class GpuOfNode(_Part, frozen=True):
    """A GPU that pods may share, by its UUID or number, and its `memory` in MB. What is in use of it: memory, percent
    of its cores (100: one pod or container has it to itself), and by how many; None where that is not for the reader.
    """

    name: str
    kind: str
    memory: int
    memory_used: int | None
    cores_used: int | None
    users: int | None


class NodeExplanation(_Part, frozen=True):
    """One node. `free` is what it still takes, where it takes pods at all (`closed`: why not)."""

    name: str
    allocatable: Amounts
    used: Amounts
    free: Amounts
    closed: str = ""
    taints: tuple[str, ...] = ()
    pods: Mapping[str, int] = {}
    """PodGroup, or pod without one → its pods there."""
    devices: tuple[DevicesOfNode, ...] = ()
    """Those that only its pods can use, where any pod has a ResourceClaim."""
    numa: tuple[NumaNode, ...] = ()
    """Where CPUs of pods are aligned."""
    gpus: tuple[GpuOfNode, ...] = ()
    """Those that pods may share."""
    ignored: tuple[str, ...] = ()
    """Its annotations, labels and amounts that cannot be read, and what of its Numatopology cannot."""
    unread: tuple[str, ...] = ()
