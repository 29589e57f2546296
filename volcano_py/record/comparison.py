"""What another configuration would have decided, cycle by cycle, on the states that there were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from volcano_py.api.effects import Bind, Evict
from volcano_py.api.objects import OwnerReference
from volcano_py.api.report import Amounts, PendingJob, QueueReport
from volcano_py.api.wording.owned import as_argument
from volcano_py.record.entries import QueueFigures
from volcano_py.record.replay import Cycle, Encoded


class Fate(msgspec.Struct, frozen=True):
    """A PodGroup: how many of its pods were bound, when the first and the last were, and why it waits in the end.

    Times are in seconds since the epoch, 0 without a bound pod. `reason` and `message` are "" when it does not wait.
    """

    bound: int = 0
    first: float = 0.0
    last: float = 0.0
    reason: str = ""
    message: str = ""


class Wait(msgspec.Struct, frozen=True):
    """A PodGroup, namespace/name: one side binds pods at another time, or not, or it waits for another reason."""

    pod_group: str
    recorded: Fate
    other: Fate
    owner: OwnerReference | None = None
    """The controlling one."""


class Eviction(msgspec.Struct, frozen=True):
    """A pod, namespace/name, that only one side evicts; `at` in seconds since the epoch."""

    pod: str
    at: float
    action: str
    why: str


class Share(msgspec.Struct, frozen=True):
    """What a queue deserves of a resource, where the two are furthest apart: at `at`, in seconds since the epoch."""

    queue: str
    resource: str
    at: float
    recorded: int
    other: int


class Compared(msgspec.Struct, frozen=True, rename="camel"):
    """Only what differs. `evicted`: by the other configuration alone; `spared`: in the record alone. `unanswered`:
    questions of it to an extender that have no answer in the record."""

    cycles: int
    waits: tuple[Wait, ...]
    evicted: tuple[Eviction, ...]
    spared: tuple[Eviction, ...]
    shares: tuple[Share, ...]
    unanswered: int = 0

    def as_json(self) -> dict[str, Any]:
        """The output of `volcano-py replay --with-scheduler-conf FILE --output json`; owners as `Kind/name`."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        for wait, written in zip(self.waits, found["waits"], strict=True):
            del written["owner"]
            if wait.owner is not None:
                written["owner"] = as_argument(wait.owner)
        return found


class Comparison:
    """Pods count once, at the first cycle in which a side binds or evicts them.

    The state follows what was recorded. So this says how the other configuration would have decided in each moment of
    the past, not what would have become of the cluster; `what-if` runs a cluster on.
    """

    def __init__(self) -> None:
        self._cycles = self._unanswered = 0
        self._recorded, self._other = _Side(), _Side()
        self._queues: dict[str, QueueFigures] = {}
        self._shares: dict[tuple[str, str], Share] = {}
        self._owners: Mapping[str, OwnerReference] = {}

    def take(self, cycle: Cycle) -> None:
        """The next cycle."""
        self._cycles += 1
        self._unanswered += cycle.unanswered
        self._owners = cycle.owners
        self._recorded.take(cycle.recorded, cycle.now)
        self._other.take(cycle.decided, cycle.now)
        self._queues |= cycle.ended.queues
        for name in cycle.ended.no_longer_pending:
            self._recorded.waiting.pop(name, None)
        self._recorded.waiting |= {job.name: job for job in cycle.ended.pending}
        if cycle.report.actions:  # it has decided
            self._keep_waiting(cycle.report.pending)
            self._share(cycle.report.queues, cycle.now)

    def _keep_waiting(self, pending: Sequence[PendingJob]) -> None:
        """What the record alone has bound is there in the next state, and still waits with the other configuration."""
        other, now = self._other, {job.name: job for job in pending}
        kept = {name: job for name, job in other.waiting.items() if self._recorded.pods(name) - other.pods(name)}
        other.waiting = {**kept, **now}

    def _share(self, queues: Mapping[str, QueueReport], now: float) -> None:
        for name, figures in self._queues.items():
            if name in queues:
                for share in _apart(name, figures.deserved, queues[name].deserved, now):
                    known = self._shares.get((name, share.resource))
                    if known is None or _distance(share) > _distance(known):
                        self._shares[name, share.resource] = share

    def found(self) -> Compared:
        """What differs so far."""
        recorded, other = self._recorded, self._other
        names = sorted({*recorded.groups(), *other.groups()})
        fates = [Wait(name, recorded.fate(name), other.fate(name), self._owners.get(name)) for name in names]
        return Compared(
            self._cycles,
            tuple(each for each in fates if not _is_alike(each)),
            tuple(each for pod, each in other.evicted.items() if pod not in recorded.evicted),
            tuple(each for pod, each in recorded.evicted.items() if pod not in other.evicted),
            tuple(share for _, share in sorted(self._shares.items())),
            self._unanswered,
        )


class _Side:
    def __init__(self) -> None:
        self.waiting: dict[str, PendingJob] = {}
        self.evicted: dict[str, Eviction] = {}
        self._bound: dict[str, dict[str, float]] = {}

    def take(self, effects: Sequence[Encoded], now: float) -> None:
        for kind, text in effects:
            if kind == "Bind":
                bind = msgspec.json.decode(text, type=Bind)
                self._bound.setdefault(bind.job, {}).setdefault(bind.pod.uid, now)
            elif kind == "Evict":
                evict = msgspec.json.decode(text, type=Evict)
                self.evicted.setdefault(evict.pod.key, Eviction(evict.pod.key, now, evict.action, evict.message))

    def groups(self) -> set[str]:
        return {*self._bound, *self.waiting}

    def pods(self, group: str) -> set[str]:
        """UIDs of those that were bound."""
        return {*self._bound.get(group, ())}

    def fate(self, group: str) -> Fate:
        bound, waits = self._bound.get(group, {}), self.waiting.get(group)
        reason, message = ("", "") if waits is None else (str(waits.reason.value), waits.message)
        times = bound.values()
        return Fate(len(bound), min(times, default=0.0), max(times, default=0.0), reason, message)


def _is_alike(wait: Wait) -> bool:
    """Messages alone, which may name other numbers, are no difference."""
    return msgspec.structs.replace(wait.recorded, message="") == msgspec.structs.replace(wait.other, message="")


def _apart(queue: str, recorded: Amounts, other: Amounts, now: float) -> list[Share]:
    resources = [name for name in sorted({*recorded, *other}) if recorded.get(name, 0) != other.get(name, 0)]
    return [Share(queue, name, now, recorded.get(name, 0), other.get(name, 0)) for name in resources]


def _distance(share: Share) -> int:
    return abs(share.recorded - share.other)
