"""In which domains of the network places are made for a job that is kept together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.state.table.across import least_of
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


def eviction_domains(ssn: Session, pool: Candidates, job: Job, tasks: Rows) -> list[int] | None:
    """The domains to try, the narrowest tier first, and of a tier those first in which the fewest places have to be
    made; None for a job that is placed without regard to the network.

    A domain is left out if it has too little room for what the gang lacks even if all pods in it that may be evicted
    were gone. Of more than may be tried, those are left out first in which jobs would have to go whole.
    """
    topology = ssn.topology
    limit = topology.limit(job)
    if limit is None:
        return None
    lacking = max(1, ssn.ask.tasks_to_ready(job) - job.waiting)
    counts = Counter(ssn.ledger.tasks.task_class[tasks[:lacking]].tolist())
    enough = topology.eligible(limit).copy()
    alone = enough.copy()
    spare = pool.evictable()
    spare = spare[pool.gangs.surplus()[ssn.ledger.tasks.job[spare]] > 0]
    missing = np.zeros(len(topology.tree), dtype=np.int64)
    for row, count in counts.items():
        task_class = ssn.snapshot.classes[row]
        assert task_class is not None, "a task without a class"
        free, freed = _rooms(ssn, pool, task_class)
        enough &= topology.tree.sums(freed) >= count
        alone &= topology.tree.sums(_room_without(ssn, task_class, spare)) >= count
        missing += np.maximum(count - topology.tree.sums(free), 0)
    chain = topology.chain(job, limit)
    if chain is not None:
        found = np.array([domain for domain in chain if enough[domain]], dtype=np.intp)
    else:
        found = np.flatnonzero(enough)
    found = found[np.lexsort((found, missing[found], topology.tree.tiers[found]))]
    most = min(topology.most_evicted_from, pool.gangs.rules.most_domains)
    if pool.gangs.rules.surplus_first:
        found = found[np.sort(np.argsort(~alone[found], kind="stable")[:most])]
    best: list[int] = found[:most].tolist()
    return best


def domains_of_sub_groups(ssn: Session, pool: Candidates, job: Job, tasks: Rows) -> Mapping[int, int]:
    """For sub-groups without places, by their number, the domain in which places are made: of those inside the job's
    domain, the one of the narrowest tier in which the fewest have to be made, next to those of the ones before."""
    groups, topology = ssn.sub_groups(job), ssn.topology
    if groups is None:
        return {}
    tree, classes = topology.tree, ssn.ledger.tasks.task_class
    inside = topology.inside_of(job)
    rooms: dict[int, tuple[Counts, Counts]] = {}
    found: dict[int, int] = {}
    for number in dict.fromkeys(ssn.ledger.tasks.sub_group[tasks].tolist()):
        limit = topology.limit(job, number) if number else None
        if limit is None or topology.tie(job, number) is not None:
            continue
        counts = Counter(classes[tasks[ssn.ledger.tasks.sub_group[tasks] == number]].tolist())
        enough, missing = topology.eligible(limit).copy(), np.zeros(len(tree), dtype=np.int64)
        enough[:inside] = enough[tree.end[inside] :] = False
        for row, count in counts.items():
            if row not in rooms:
                task_class = ssn.snapshot.classes[row]
                assert task_class is not None, "a task without a class"
                free, freed = _rooms(ssn, pool, task_class)
                rooms[row] = tree.sums(free), tree.sums(freed)
            enough &= rooms[row][1] >= count
            missing += np.maximum(count - rooms[row][0], 0)
        fitting = np.flatnonzero(enough)
        if not len(fitting):
            continue
        best = int(fitting[np.lexsort((fitting, missing[fitting], tree.tiers[fitting]))[0]])
        found[number] = best
        for row, count in counts.items():
            for room in rooms[row]:
                room[tree.ancestors(best)] -= count
    return found


def _rooms(ssn: Session, pool: Candidates, task_class: TaskClass) -> tuple[Counts, Counts]:
    """[N] for how many tasks of the class each node will have room, and would have without all pods that may go."""
    none = np.zeros(0, dtype=np.intp)
    return _room_without(ssn, task_class, none), _room_without(ssn, task_class, pool.evictable())


def _room_without(ssn: Session, task_class: TaskClass, rows: Rows) -> Counts:
    """[N] for how many tasks of the class each node would have room without the pods `rows`."""
    nodes, dims = ssn.ledger.nodes, task_class.requested
    may_take = ssn.resolvable(ssn.placer.codes(task_class)) & nodes.present
    if not len(dims):
        return np.where(may_take, np.int64(2**31), 0)
    idle = nodes.future_idle()[:, dims]
    requests = ssn.ledger.classes.request[ssn.ledger.tasks.task_class[rows]][:, dims]
    for column in range(len(dims)):
        np.add.at(idle[:, column], ssn.ledger.tasks.node[rows], requests[:, column])
    return np.where(may_take, np.maximum(least_of(idle // task_class.request[dims]), 0), 0)
