"""The queues of one cycle with their amounts, in the order of the drawn tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.report import Amounts, QueueReport
from volcano_py.config import SchedulerConfiguration
from volcano_py.state.queues.queue_tree import QueueTree, lay
from volcano_py.state.table.units import canonical


@dataclass(frozen=True, slots=True)
class Standing:
    """One queue.

    Attributes:
        parent: the queue above; "" for root, and for a queue without a place in the tree.
        depth: how many queues are above it.
        problem: why it has no place in the tree, if so.
        stops: whether its jobs wait for that; only a plugin that knows the tree makes them.
        is_missing: it does not exist, but pods are charged to it.
    """

    report: QueueReport
    parent: str = ""
    depth: int = 0
    problem: str = ""
    stops: bool = False
    is_missing: bool = False

    @property
    def name(self) -> str:
        return self.report.name

    @property
    def pending(self) -> Amounts:
        """What is asked for and not held."""
        held, wanted = self.report.allocated, self.report.request
        return _beyond(wanted, held)

    @property
    def borrowed(self) -> Amounts:
        """What is held beyond what is deserved."""
        return _beyond(self.report.allocated, self.report.deserved)

    @property
    def lent(self) -> Amounts:
        """What is deserved and asked for, but not held."""
        deserved, wanted = self.report.deserved, self.report.request
        entitled = {name: min(units, deserved.get(name, 0)) for name, units in wanted.items()}
        return _beyond(entitled, self.report.allocated)

    def as_json(self) -> dict[str, Any]:
        """Amounts are Kubernetes quantities."""
        found: dict[str, Any] = {
            "name": self.name,
            "parent": self.parent,
            "depth": self.depth,
            "state": self.report.state,
            "weight": self.report.weight,
            "share": self.report.share,
        }
        for key, amounts in _AMOUNTS.items():
            found[key] = {name: canonical(name, units) for name, units in amounts(self).items()}
        if missing := self.report.guarantee_not_kept:
            found["guaranteeNotKept"] = {name: canonical(name, units) for name, units in missing.items()}
        found["podGroups"] = dict(self.report.pod_groups)
        if self.report.ignored:
            found["ignored"] = list(self.report.ignored)
        if self.problem:
            found["problem"] = self.problem
        return found


_NONE: Final[Mapping[str, Amounts]] = MappingProxyType({})
_AMOUNTS: Final[Mapping[str, Callable[[Standing], Amounts]]] = {
    "allocated": lambda standing: standing.report.allocated,
    "pending": lambda standing: standing.pending,
    "inqueue": lambda standing: standing.report.inqueue,
    "guarantee": lambda standing: standing.report.guarantee,
    "deserved": lambda standing: standing.report.deserved,
    "capability": lambda standing: standing.report.capability,
    "realCapability": lambda standing: standing.report.real_capability,
}


_MISSING: Final = "does not exist: running pods keep their places, and no other pod starts; create the queue"


def standings(
    reports: Mapping[str, QueueReport], configuration: SchedulerConfiguration, missing: Mapping[str, Amounts] = _NONE
) -> list[Standing]:
    """Root, then each queue below the one above it, by name; then queues without a place in the tree, and those that
    do not exist.

    `reports` are those of a cycle with this configuration. `missing`: what is charged to queues that do not exist.
    """
    tree = lay({name: report.parent for name, report in reports.items()})
    known = {ROOT_QUEUE: QueueReport(ROOT_QUEUE), **reports}
    knows_tree = _knows_tree(configuration)
    if not knows_tree:
        # Nothing of what a queue holds counts for the queues above it yet.
        known = _added_up(known, tree)
    placed = [Standing(known[name], tree.parents.get(name, ""), depth) for name, depth in _walk(tree)]
    outside = (_outside(known[name], tree, knows_tree) for name in sorted(tree.faults))
    return [*placed, *outside, *(_absent(name, held) for name, held in sorted(missing.items()))]


def _outside(report: QueueReport, tree: QueueTree, stops: bool) -> Standing:
    return Standing(report, problem=tree.faults[report.name].problem(report.name), stops=stops)


def _absent(name: str, held: Amounts) -> Standing:
    report = QueueReport(name, state="", allocated=held, request=held)
    return Standing(report, problem=_MISSING, stops=True, is_missing=True)


def _walk(tree: QueueTree) -> Iterator[tuple[str, int]]:
    """Each queue after the one above it and before its next sibling, with its depth."""
    waiting = [(ROOT_QUEUE, 0)]
    while waiting:
        name, depth = waiting.pop()
        yield name, depth
        waiting.extend((child, depth + 1) for child in reversed(tree.children.get(name, ())))


def _knows_tree(configuration: SchedulerConfiguration) -> bool:
    """Whether a plugin shares out along the tree."""
    owners = ("capacity", "proportion")
    return any(entry.name in owners and entry.flags.hierarchy for entry in configuration.plugins())


def _added_up(reports: dict[str, QueueReport], tree: QueueTree) -> dict[str, QueueReport]:
    """With what queues hold and ask for added to all queues above them."""
    for name in reversed(tree.order[1:]):
        parent, child = reports[tree.parents[name]], reports[name]
        reports[parent.name] = replace(
            parent,
            allocated=_sum(parent.allocated, child.allocated),
            # Nothing but what is held is said of the requests of queues that no plugin looks at.
            request=_sum(parent.request or parent.allocated, child.request or child.allocated),
            inqueue=_sum(parent.inqueue, child.inqueue),
        )
    return reports


def _beyond(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: units - other.get(name, 0) for name, units in one.items() if units > other.get(name, 0)}


def _sum(amounts: Amounts, more: Amounts) -> Amounts:
    return {name: amounts.get(name, 0) + more.get(name, 0) for name in {**amounts, **more}}
