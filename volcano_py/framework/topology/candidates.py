"""The domains that have room for what a job needs, in the order in which they are tried: counted over all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_topology import DomainRoom, no_domain
from volcano_py.framework.job import FitError, Job
from volcano_py.framework.roles import roles_lacking
from volcano_py.framework.session import Session
from volcano_py.framework.topology.topology import WHOLE
from volcano_py.framework.views import Counts
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass
from volcano_py.state.topology.tree import ROOT


class Demand(NamedTuple):
    """What a job needs at once.

    Attributes:
        counts: class row → tasks, the class that is placed first before the others.
        request: [R] what they request together.
    """

    counts: Mapping[int, int]
    request: NDArray[np.int64]

    @classmethod
    def of(cls, ssn: Session, tasks: Rows) -> Demand:
        classes = ssn.ledger.tasks.task_class[tasks]
        return cls(Counter(classes.tolist()), ssn.ledger.classes.request[classes].sum(axis=0))

    @property
    def tasks(self) -> int:
        return sum(self.counts.values())

    def classes(self, ssn: Session) -> list[TaskClass]:
        found = (ssn.snapshot.classes[row] for row in self.counts)
        return [each for each in found if each is not None]


class Rooms:
    """[H] how many tasks of each class all domains have room for, now or (`later`) once pods that leave are gone."""

    def __init__(self, ssn: Session, demand: Demand, *, later: bool) -> None:
        self._ssn = ssn
        self.demand = demand
        self._later = later
        self._classes = demand.classes(ssn)
        self.by_class = {each.row: ssn.topology.tree.room(ssn.placer.room(each, later=later)) for each in self._classes}

    def enough(self) -> NDArray[np.bool_]:
        """[H] where the room of every class suffices, looked at by itself. Pods that are placed may open nodes to
        classes that follow."""
        enough = np.ones(len(self._ssn.topology.tree), dtype=np.bool_)
        for number, task_class in enumerate(self._classes):
            room = self._at_most(task_class) if number else self.by_class[task_class.row]
            enough &= room >= self.demand.counts[task_class.row]
        return enough

    def at_most(self) -> Counts:
        """[H] how many of the tasks there may be room for, once others are placed."""
        found = [np.minimum(self._at_most(each), self.demand.counts[each.row]) for each in self._classes]
        total: Counts = np.sum(found, axis=0)
        return total

    def pods(self) -> Counts:
        """[H] how many of the tasks there is room for."""
        found = [np.minimum(self.by_class[row], count) for row, count in self.demand.counts.items()]
        total: Counts = np.sum(found, axis=0)
        return total

    def spare(self) -> Counts:
        """[H] for how many more of the class that is placed first there is room."""
        row, count = next(iter(self.demand.counts.items()))
        spare: Counts = self.by_class[row] - count
        return spare

    def parts(self, domains: Rows) -> Counts:
        """[K] how many of the narrowest domains inside of each the class that is placed first needs at least."""
        tree = self._ssn.topology.tree
        parts = np.ones(len(domains), dtype=np.int64)
        divided = np.flatnonzero(tree.end[domains] > domains + 1)
        if len(divided):
            row, count = next(iter(self.demand.counts.items()))
            own = self.by_class[row].copy()
            np.subtract.at(own, tree.parent[1:], self.by_class[row][1:])
            for at in divided.tolist():
                largest_first = np.sort(own[domains[at] : tree.end[domains[at]]])[::-1]
                parts[at] = np.searchsorted(np.cumsum(largest_first), count) + 1
        return parts

    def _at_most(self, task_class: TaskClass) -> Counts:
        """[H] for how many tasks of the class there may be room, once others are placed."""
        if not self._ssn.placer.may_open(task_class):
            return self.by_class[task_class.row]
        return self._ssn.topology.tree.room(self._ssn.placer.most(task_class, later=self._later))


def candidates(
    ssn: Session,
    job: Job,
    limit: int,
    demand: Demand,
    *,
    later: bool,
    group: int = WHOLE,
    enough: NDArray[np.bool_] | None = None,
) -> Iterator[int]:
    """The domains to try for a job or one of its sub-groups, the narrowest tier first and the best of a tier first.
    `enough` [H] marks those with room; when it is not given, they need room for all of the demand."""
    tree = ssn.topology.tree
    rooms = Rooms(ssn, demand, later=later)
    enough = rooms.enough() if enough is None else enough
    chain = ssn.topology.chain(job, limit, group)
    if chain is not None:
        yield from (domain for domain in chain if enough[domain])
        return
    inside = ssn.topology.inside_of(job, group)
    found = np.flatnonzero(enough & ssn.topology.eligible(limit))
    found = found[(found >= inside) & (found < tree.end[inside])]
    spare = rooms.spare()
    for tier in np.unique(tree.tiers[found]).tolist():
        of_tier = found[tree.tiers[found] == tier]
        if len(of_tier) > 1:
            scores = ssn.topology.scores(demand.request, of_tier)
            of_tier = of_tier[np.lexsort((of_tier, spare[of_tier], rooms.parts(of_tier), -scores))]
        yield from of_tier.tolist()


def enough_of_any(ssn: Session, job: Job, tasks: Rows, *, later: bool) -> NDArray[np.bool_]:
    """[H] where enough of the waiting tasks, whichever, may have room to start the job, with the minimums of roles."""
    enough = Rooms(ssn, Demand.of(ssn, tasks), later=later).at_most() >= ssn.ask.tasks_to_ready(job)
    roles = ssn.ledger.tasks.role[tasks]
    for role, lacking in roles_lacking(ssn, job).items():
        of_role = tasks[roles == role]
        enough &= len(of_role) > 0 and Rooms(ssn, Demand.of(ssn, of_role), later=later).at_most() >= lacking
    return enough


def roomiest(ssn: Session, job: Job, limit: int, pods: Counts) -> int | None:
    """Of the domains that a job may use, the one with room for the most `pods` [H], of the narrowest tier; None when
    none has any."""
    tree, chain = ssn.topology.tree, ssn.topology.chain(job, limit)
    allowed = np.flatnonzero(ssn.topology.eligible(limit)) if chain is None else np.array(chain, dtype=np.intp)
    allowed = allowed[pods[allowed] > 0]
    return int(allowed[np.lexsort((allowed, tree.tiers[allowed], -pods[allowed]))[0]]) if len(allowed) else None


def best_of_tiers(
    ssn: Session, job: Job, limit: int, demand: Demand, *, group: int = WHOLE, pods: Counts | None = None
) -> list[DomainRoom]:
    """Of each tier the domain with room for the most pods, the narrowest tier first; of a job, or one of its
    sub-groups, whose pods have places, those that hold them. `pods` as for `misfit`."""
    tree = ssn.topology.tree
    tie = ssn.topology.tie(job, group)
    pods = Rooms(ssn, demand, later=False).pods() if pods is None else pods
    eligible = ssn.topology.eligible(limit)
    considered = np.arange(len(tree)) if tie is None else np.array(tree.ancestors(tie))
    found: list[DomainRoom] = []
    for tier in np.unique(tree.tiers[considered]).tolist():
        of_tier = considered[tree.tiers[considered] == tier]
        best = int(of_tier[np.argmax(pods[of_tier])])
        name = "" if best == ROOT else tree.names[best]
        found.append(DomainRoom(name, tree.tier_names[best], tier, int(pods[best]), allowed=bool(eligible[best])))
    return found


def misfit(
    ssn: Session, job: Job, limit: int, demand: Demand, *, group: int = WHOLE, pods: Counts | None = None
) -> FitError:
    """Why no domain takes the job, or one of its sub-groups: of each tier the best domain, and what it lacks.
    `pods` [H] is for how many there is room; when it is not given, each pod is counted by itself."""
    tie = ssn.topology.tie(job, group)
    found = best_of_tiers(ssn, job, limit, demand, group=group, pods=pods)
    where = "" if tie is None else ssn.topology.tree.described(tie)
    groups = ssn.sub_groups(job)
    who = "" if group == WHOLE or groups is None else groups.names[groups.index(group)]
    refusal = Refusal(Reason.NODES_REFUSE, no_domain(found, demand.tasks, where, sub_group=who))
    total = int(ssn.ledger.nodes.present.sum())
    return FitError(total, {refusal.message: total}, refusal)
