"""A turn of a job that is kept together in the network (`spec.networkTopology`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from volcano_py.actions.turns.turn import Turn, Work
from volcano_py.framework.job import FitError
from volcano_py.framework.placement.placer import Choice
from volcano_py.framework.session import Session
from volcano_py.framework.topology.balance import shares
from volcano_py.framework.topology.candidates import Demand, Rooms, candidates, enough_of_any, misfit, roomiest
from volcano_py.framework.topology.confinement import Confinement
from volcano_py.framework.topology.ranks import deal
from volcano_py.framework.topology.topology import WHOLE
from volcano_py.framework.views import Counts
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.topology.tree import ROOT


class GatheredTurn(Turn):
    """A turn of a job that is kept together in the network: the domains that have room for what it needs are tried one
    after the other, the narrowest tier first. A job whose pods have places stays in their domain, or in those above it
    up to its limit. Pods in a row get neighboring nodes.
    """

    def __init__(self, ssn: Session, work: Work, limit: int, *, alone: bool, leaves: int | None = None) -> None:
        super().__init__(ssn, work, alone=alone, leaves=leaves)
        self._limit = limit
        self._shares: list[tuple[int, int]] = []
        """Where the next tasks go, and how many to each domain, when a job that needs several is to be balanced."""
        self._in_order = True

    def take(self) -> bool:
        ssn, work, job = self._ssn, self._work, self._job
        lost = ssn.topology.lost(job)
        if ssn.ask.job_ready(job) and not len(lost):
            return self._try(allow_later=True)
        tasks, failed = work.tasks, set(work.failed_roles)
        demand = Demand.of(ssn, np.concatenate((tasks[: ssn.ask.tasks_to_ready(job)], lost)))
        for later, domain, in_order in self._attempts(tasks, demand):
            with ssn.topology.inside(job, domain):
                work.tasks, work.failed_roles, self._in_order = tasks, set(failed), in_order
                self._shares = self._balanced(domain, demand) if in_order and not later else []
                if self._try(allow_later=later):
                    return True
                if len(self._statement):
                    return False  # it keeps its places until what is being released is free
        work.tasks = tasks[:0]
        self._explain(demand)
        return False

    def _attempts(self, tasks: Rows, demand: Demand) -> Iterator[tuple[bool, int, bool]]:
        """What to try: whether places that are being freed count, in which domain, and whether its parts are filled
        one after the other."""
        yield from self._in_domains(tasks, partial(self._candidates, demand=demand))
        if self._ssn.ask.job_pipelined(self._job):  # it keeps whatever it finds
            pods = Rooms(self._ssn, demand, later=False).pods()
            if (best := roomiest(self._ssn, self._job, self._limit, pods)) is not None:
                yield self._ssn.placer.will_change, best, True

    def _in_domains(self, tasks: Rows, domains: Callable[..., Iterable[int]]) -> Iterator[tuple[bool, int, bool]]:
        """The attempts in the domains that `domains` gives for the tasks: first without places that are being freed
        (`later`), then with these."""
        for later in (False, True) if self._ssn.placer.will_change else (False,):
            for domain in domains(tasks, later=later):
                for in_order in self._manners(tasks, domain):
                    yield later, domain, in_order

    def _manners(self, tasks: Rows, domain: int) -> tuple[bool, ...]:
        """Whether to fill the parts of a domain one after the other. Pods of several classes may fit only otherwise:
        wherever nodes score best."""
        classes = self._ssn.ledger.tasks.task_class[tasks]
        is_divided = self._ssn.topology.tree.end[domain] > domain + 1
        return (True, False) if is_divided and (classes != classes[0]).any() else (True,)

    def _balanced(self, domain: int, demand: Demand) -> list[tuple[int, int]]:
        """The shares of the domains that this one consists of, where jobs are to be balanced; only equal pods are."""
        topology = self._ssn.topology
        if not topology.balances or len(demand.counts) > 1 or topology.tie(self._job) is not None:
            return []
        (room,) = Rooms(self._ssn, demand, later=False).by_class.values()
        return shares(topology.tree, room, domain, demand.tasks)

    def _settle(self) -> None:
        if not self._ssn.has_nominated_tasks:
            deal(self._ssn, self._statement)

    def _candidates(self, tasks: Rows, demand: Demand, *, later: bool) -> Iterator[int]:
        """The domains to try. If none has room for the pods that come first, those that have for enough of any."""
        ssn, job = self._ssn, self._job
        found = self._worth_trying(candidates(ssn, job, self._limit, demand, later=later), demand)
        yield from found
        if demand.tasks < len(tasks) and len(Demand.of(ssn, tasks).counts) > 1:
            enough = enough_of_any(ssn, job, tasks, later=later)
            enough[found] = False
            of_any = candidates(ssn, job, self._limit, demand, later=later, enough=enough)
            yield from self._worth_trying(of_any, demand)

    def _worth_trying(self, domains: Iterable[int], demand: Demand) -> list[int]:
        """One is enough where a ceiling is in the way, to find out why."""
        short = (
            self._ssn.ask.bindable(self._job.queue, task_class).count < demand.counts[task_class.row]
            for task_class in demand.classes(self._ssn)
        )
        return list(islice(domains, 1 if any(short) else None))

    def _try(self, *, allow_later: bool) -> bool:
        self._allow_later = allow_later
        with self._ssn.findings.forgetting_places():
            return super().take()

    def _choose(self, task_class: TaskClass, rows: Rows) -> Choice:
        """In the narrowest domain of the job first; where a domain consists of several, in one after the other."""
        if not self._in_order:
            return self._unless_later(self._choose_unpulled(task_class, rows))
        pipelined: Choice | None = None
        while self._shares:
            domain, share = self._shares.pop()
            choice = self._choose_in(domain, task_class, min(share, len(rows)))
            if len(choice.nodes) and not choice.pipelined:
                if left := share - len(choice.nodes):
                    self._shares.append((domain, left))
                return choice
        for domain in self._steps():
            choice = self._choose_in(domain, task_class, len(rows))
            if len(choice.nodes) and not choice.pipelined:
                return choice
            if len(choice.nodes) and pipelined is None:
                pipelined = choice
        if pipelined is not None and self._allow_later:
            return pipelined
        return Choice(np.zeros(0, dtype=np.intp))

    def _choose_anywhere(self, task_class: TaskClass, rows: Rows) -> Choice:
        """In the domain that is tried, wherever nodes score best."""
        return self._unless_later(super()._choose(task_class, rows))

    def _choose_unpulled(self, task_class: TaskClass, rows: Rows) -> Choice:
        """As if the domain that is tried were the whole cluster: the pods that are placed draw no others near."""
        within = self._ssn.topology.confinement(self._job, int(rows[0]))
        within = None if within is None else Confinement(within.nodes)
        return self._ssn.placer.choose(task_class, len(rows), within)

    def _unless_later(self, choice: Choice) -> Choice:
        return Choice(np.zeros(0, dtype=np.intp)) if choice.pipelined and not self._allow_later else choice

    def _choose_in(self, domain: int, task_class: TaskClass, count: int) -> Choice:
        """Nodes of one of the domains that this one consists of; in the order of the tree, unless they are promised."""
        topology = self._ssn.topology
        part = self._part(domain, task_class, count)
        choice = self._ssn.placer.choose(task_class, count, topology.within(domain) if part is None else part)
        if part is not None and not len(choice.nodes):  # it has room, but not for the next of pods that are spread
            pull = topology.pull(self._job, self._center())
            choice = self._ssn.placer.choose(task_class, count, topology.within(domain, pull))
        if not len(choice.nodes) or choice.pipelined:
            return choice
        return Choice(choice.nodes[np.argsort(topology.tree.place[choice.nodes], kind="stable")])

    def _misfit(self, task_class: TaskClass, role: int, length: int, error: FitError) -> bool:
        """Nodes outside of the job's domain may have room: for a job that keeps what it has, the message is about its
        domain."""
        ssn, job = self._ssn, self._job
        keeps = ssn.ask.job_ready(job) or ssn.ask.job_pipelined(job)
        if self._limit < ssn.topology.tree.tiers[ROOT] and keeps:
            error = misfit(ssn, job, self._limit, Demand.of(ssn, self._work.tasks[:1]))
        return super()._misfit(task_class, role, length, error)

    def _steps(self) -> list[int]:
        """The domains to look in, the narrowest first."""
        topology = self._ssn.topology
        chain = topology.chain(self._job, self._limit)
        if chain is None:
            return [topology.inside_of(self._job)]
        return chain

    def _center(self) -> int:
        """The sub-group whose pods the next ones are to be near to; `WHOLE` for those of the job."""
        return WHOLE

    def _part(self, domain: int, task_class: TaskClass, count: int) -> Confinement | None:
        """Of the domains that a domain consists of, one of the nearest to the job's pods: the one that the tasks fill
        best, or if they do not fit into one, the one with the most room. None when none has room now."""
        topology, tree = self._ssn.topology, self._ssn.topology.tree
        below = np.arange(domain, tree.end[domain])
        if len(below) == 1:
            return None
        room = np.minimum(self._ssn.placer.room(task_class), count)
        nodes = tree.nodes(domain)
        own = np.bincount(tree.nearest[nodes] - domain, weights=room[nodes], minlength=len(below)).astype(np.int64)
        tie = topology.tie(self._job, self._center())
        if tie is None:
            return self._first_part(domain, own)
        reach = tree.common_tiers(tie)[below]
        found = np.flatnonzero(own > 0)
        if not len(found):
            return None
        found = found[reach[found] == reach[found].min()]
        fits = found[own[found] >= count]
        best = fits[np.argmin(own[fits])] if len(fits) else found[np.argmax(own[found])]
        return topology.nearest_only(int(below[best]))

    def _first_part(self, domain: int, own: Counts) -> Confinement | None:
        """Down from the domain, always to the one with the most room."""
        tree = self._ssn.topology.tree
        total = np.concatenate(([0], np.cumsum(own)))
        at = domain
        while True:
            children = [each for each in range(at + 1, int(tree.end[at])) if tree.parent[each] == at]
            rooms = [total[int(tree.end[each]) - domain] - total[each - domain] for each in children]
            most = max(rooms, default=0)
            if own[at - domain] >= most:
                return self._ssn.topology.nearest_only(at) if own[at - domain] else None
            at = children[rooms.index(most)]

    def _explain(self, demand: Demand) -> None:
        """Why no domain takes the job. Where any domain will do, or one was found and something else was in the way,
        that has been noted."""
        ssn, job = self._ssn, self._job
        is_tried = job.row in ssn.findings.notes or job.row in ssn.findings.fit_errors
        if is_tried and any(True for _ in candidates(ssn, job, self._limit, demand, later=False)):
            return
        for task_class in demand.classes(ssn):
            if self._limit >= ssn.topology.tree.tiers[ROOT]:
                error = ssn.placer.misfit(task_class)
            else:
                error = misfit(ssn, job, self._limit, demand)
            ssn.findings.misfit(job, task_class, error)
