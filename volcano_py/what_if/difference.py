"""What differs between two outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from volcano_py.api.objects import OwnerReference
from volcano_py.api.report import Amounts, QueueReport
from volcano_py.api.wording.amounts import numbers
from volcano_py.api.wording.owned import as_argument
from volcano_py.state.table.units import canonical
from volcano_py.what_if.outcome import Outcome, Waiting

_NEVER: Final = Waiting("", "")


class Finding(StrEnum):
    """A kind of difference, for `--fail-on`."""

    CHANGES = "changes"
    EVICTIONS = "evictions"
    STOPS = "stops"
    WAITS = "waits"


class Work(msgspec.Struct, frozen=True):
    """One PodGroup of which not the same number of pods is placed, or that waits for another reason.

    Of each pair the first is without the changes, the second with them.
    """

    name: str
    placed: tuple[int, int]
    waiting: tuple[int, int]
    reasons: tuple[Waiting | None, Waiting | None]
    owner: OwnerReference | None = None
    """The controlling one of the PodGroup."""

    @property
    def starts(self) -> int:
        """How many more of its pods are placed."""
        return max(self.placed[1] - self.placed[0], 0)

    @property
    def stops(self) -> int:
        """How many fewer are."""
        return max(self.placed[0] - self.placed[1], 0)

    @property
    def waits(self) -> bool:
        """Whether more of its pods wait, or for another reason."""
        return self.waiting[1] > self.waiting[0] or (
            self.waiting[1] > 0 and _code(self.reasons[0]) != _code(self.reasons[1])
        )

    def as_json(self) -> dict[str, Any]:
        before, after = (
            {"placed": placed, "waiting": waiting, **(msgspec.to_builtins(why) if why is not None else {})}
            for placed, waiting, why in zip(self.placed, self.waiting, self.reasons, strict=True)
        )
        owner = as_argument(self.owner)
        return {"podGroup": self.name, **({"owner": owner} if owner else {}), "before": before, "after": after}


class Eviction(msgspec.Struct, frozen=True):
    """One pod that is evicted. `why` names the pod that needs its place."""

    pod: str
    group: str
    action: str
    why: str

    def as_json(self) -> dict[str, str]:
        return {"pod": self.pod, "podGroup": self.group, "action": self.action, "why": self.why}


class Amount(msgspec.Struct, frozen=True):
    """An amount that differs: of what, of which resource, and in Kubernetes' notation without and with the changes.
    `readable`: both as people read them."""

    field: str
    resource: str
    before: str
    after: str
    readable: tuple[str, ...]


class Difference(msgspec.Struct, frozen=True):
    """Everything that differs. `evictions` happen only with the changes, `spared` are evicted only without them."""

    work: tuple[Work, ...]
    evictions: tuple[Eviction, ...]
    spared: tuple[Eviction, ...]
    queues: Mapping[str, tuple[Amount, ...]]
    idle: tuple[Amount, ...]
    settled: bool

    @property
    def findings(self) -> frozenset[Finding]:
        """The kinds of differences there are."""
        there = {
            Finding.CHANGES: bool(self.work or self.evictions or self.spared or self.queues or self.idle),
            Finding.EVICTIONS: bool(self.evictions),
            Finding.STOPS: any(work.stops for work in self.work),
            Finding.WAITS: any(work.waits for work in self.work),
        }
        return frozenset(finding for finding, is_there in there.items() if is_there)

    def as_json(self) -> dict[str, Any]:
        return {
            "changes": Finding.CHANGES in self.findings,
            "settled": self.settled,
            "work": [work.as_json() for work in self.work],
            "evictions": [eviction.as_json() for eviction in self.evictions],
            "noLongerEvicted": [eviction.as_json() for eviction in self.spared],
            "queues": {name: _by_field(amounts) for name, amounts in self.queues.items()},
            "idle": _by_field(self.idle).get("idle", {}),
        }


def difference(before: Outcome, after: Outcome) -> Difference:
    """What is different in `after`."""
    return Difference(
        work=tuple(_work(before, after)),
        evictions=_evictions(after, before),
        spared=_evictions(before, after),
        queues={
            name: amounts
            for name in sorted({*before.queues, *after.queues})
            if (amounts := _of_queue(before.queues.get(name), after.queues.get(name)))
        },
        idle=tuple(_amounts("idle", before.idle, after.idle)),
        settled=before.settled and after.settled,
    )


def _work(before: Outcome, after: Outcome) -> list[Work]:
    names = sorted({*before.placed, *before.waiting, *after.placed, *after.waiting})
    found = [
        Work(
            name=name,
            placed=(len(before.placed.get(name, ())), len(after.placed.get(name, ()))),
            waiting=(len(before.waiting.get(name, ())), len(after.waiting.get(name, ()))),
            reasons=(before.reasons.get(name), after.reasons.get(name)),
            owner=after.owners.get(name) or before.owners.get(name),
        )
        for name in names
    ]
    return [work for work in found if work.starts or work.stops or work.waits or work.waiting[0] != work.waiting[1]]


def _evictions(of: Outcome, without: Outcome) -> tuple[Eviction, ...]:
    return tuple(
        Eviction(pod, of.groups[pod], effect.action, effect.message)
        for pod, effect in sorted(of.evictions.items())
        if pod not in without.evictions
    )


_FIELDS: Final[Mapping[str, Callable[[QueueReport], Amounts]]] = {
    "allocated": lambda report: report.allocated,
    "deserved": lambda report: report.deserved,
}


def _of_queue(before: QueueReport | None, after: QueueReport | None) -> tuple[Amount, ...]:
    found: list[Amount] = []
    for field, amounts in _FIELDS.items():
        found += _amounts(field, amounts(before) if before else {}, amounts(after) if after else {})
    old, new = (f"{report.share:.2f}" if report is not None else "-" for report in (before, after))
    if old != new:
        found.append(Amount("share", "", old, new, readable=(old, new)))
    return tuple(found)


def _amounts(field: str, before: Amounts, after: Amounts) -> list[Amount]:
    pairs = {name: (before.get(name, 0), after.get(name, 0)) for name in {**before, **after}}
    return [
        Amount(field, name, canonical(name, old), canonical(name, new), readable=numbers(name, old, new))
        for name, (old, new) in pairs.items()
        if old != new
    ]


def _by_field(amounts: tuple[Amount, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for amount in amounts:
        pair = {"before": amount.before, "after": amount.after}
        if amount.resource:
            found.setdefault(amount.field, {})[amount.resource] = pair
        else:
            found[amount.field] = pair
    return found


def _code(why: Waiting | None) -> str:
    return (why or _NEVER).reason
