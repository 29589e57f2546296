"""Which domains of the network a job may use at each moment of a cycle.

A job that has no pods placed may use any domain up to its limit; each pod that it places ties it to the lowest domain
that holds all of them, and so to the domains above that one, up to the limit. The same holds for each of its
sub-groups, with a limit of its own. All actions ask here, so that a limit holds whichever of them places a pod. What is
tied is read off the placed pods, so it is the same after a restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.domain_scores import DomainScore
from volcano_py.framework.job import Job
from volcano_py.framework.topology.confinement import Confinement
from volcano_py.state.status import ALLOCATED_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.limits import read_sub_group
from volcano_py.state.topology.tree import ROOT, Tree, TreeBuilder

TREE: Final = "the tree of HyperNodes"
"""Name of the memory that keeps it between cycles."""
WHOLE: Final = 0
"""In place of the number of a sub-group: the job as a whole, or no sub-group."""
_TIES: Final = ALLOCATED_STATUSES.copy()
_TIES[TaskStatus.PIPELINED] = True
Mask = NDArray[np.bool_]


class Topology:
    """See the module.

    Attributes:
        unknown_names: job row → a limit of the job (its path in the PodGroup) whose tier name no HyperNode has, and the
            name; of jobs that were asked about.
        most_evicted_from: how many domains are tried when pods are evicted for a job.
        balances: whether a job that needs several domains is divided evenly over them.
    """

    def __init__(self, cluster: ClusterCopy, dispatch: Dispatch, memory: dict[str, Any]) -> None:
        """`memory` is kept from cycle to cycle."""
        self._cluster = cluster
        self._dispatch = dispatch
        self._memory = memory
        self._inside: dict[tuple[int, int], int] = {}
        self._eligible: dict[int, Mask] = {}
        self._masks: dict[tuple[int, ...], Mask] = {}
        self._limits: dict[tuple[int, int], int | None] = {}
        self.unknown_names: dict[int, tuple[str, str]] = {}
        self.most_evicted_from = 8
        self.balances = False

    @cached_property
    def tree(self) -> Tree:
        """Built when nodes or HyperNodes have changed since it was asked for last."""
        snapshot, present = self._cluster.snapshot, self._cluster.ledger.nodes.present
        version = snapshot.nodes_version, snapshot.hyper_nodes_version, len(present)
        if self._memory.get("version") != version:
            builder: TreeBuilder = self._memory.setdefault("builder", TreeBuilder())
            self._memory["tree"] = builder.build(snapshot.hyper_nodes, self._cluster.nodes, present)
            self._memory["version"] = version
        tree: Tree = self._memory["tree"]
        return tree

    # -- limits ----------------------------------------------------------------------------------------------------

    def limit(self, job: Job, group: int = WHOLE) -> int | None:
        """The widest tier that the job, or one of its sub-groups (its number in the task table), may use; None for what
        is placed without regard to the network: it asks for nothing, or no plugin is there for it."""
        if job.info.topology is None:
            return None
        key = job.row, group
        if key not in self._limits:
            self._limits[key] = self._limit(job, group)
        return self._limits[key]

    def _limit(self, job: Job, group: int) -> int | None:
        topology = job.info.topology
        assert topology is not None, "see limit"
        path, limit = "spec.networkTopology", topology.limit
        if group != WHOLE:
            policy, _ = read_sub_group(self._cluster.snapshot.sub_groups[group])
            path, limit = f"spec.subGroupPolicy[{policy}].networkTopology", topology.policies[policy].limit
        if limit is None or not self._dispatch.gathers:
            return None
        top = int(self.tree.tiers[ROOT])
        if not limit.is_hard or not self._dispatch.calls("hyper_node_gradient"):
            return top if self.tree.has_hyper_nodes else None
        if limit.tier is not None:
            return None if limit.tier >= top and not self.tree.has_hyper_nodes else min(limit.tier, top)
        found = self.tree.tier_of_name().get(limit.tier_name)
        if found is None:
            self.unknown_names.setdefault(job.row, (path, limit.tier_name))
            return top if self.tree.has_hyper_nodes else None
        return found

    def group_of(self, job: Job, row: int) -> int:
        """The sub-group of the job's task in that row; `WHOLE` for none."""
        return int(self._cluster.ledger.tasks.sub_group[row]) if job.info.topology is not None else WHOLE

    def is_structured(self) -> bool:
        """Whether domains are tried one after the other; otherwise only scores keep a job together."""
        return bool(self._dispatch.calls("hyper_node_gradient"))

    def eligible(self, limit: int) -> Mask:
        """[H] the domains that may hold a job with this limit."""
        known = self._eligible.get(limit)
        if known is None:
            known = np.ones(len(self.tree), dtype=np.bool_)
            for call in self._dispatch.calls("hyper_node_gradient"):
                known &= call(limit, self.tree)
            self._eligible[limit] = known
        return known

    def scores(self, request: NDArray[np.int64], domains: Rows) -> NDArray[np.float64]:
        """[K] scores of domains for pods that request so much [R] together; higher is better."""
        total = np.zeros(len(domains))
        for call in self._dispatch.calls("hyper_node_order"):
            total += call(request, self.tree, domains)
        return total

    # -- ties ------------------------------------------------------------------------------------------------------

    def placed_in(self, job: Job, group: int = WHOLE) -> NDArray[np.intp]:
        """[K] the nearest domain of each pod of the job, or the sub-group, that has a place on a node that exists."""
        domains = self.tree.nearest[self._cluster.ledger.tasks.node[self._placed(job, group)]]
        return domains[domains >= 0]

    def _placed(self, job: Job, group: int) -> Rows:
        """[K] the tasks of the job, or the sub-group, that have a place."""
        tasks, rows = self._cluster.ledger.tasks, self._cluster.tasks_of(job)
        if group != WHOLE:
            rows = rows[tasks.sub_group[rows] == group]
        return rows[_TIES[tasks.status[rows]] & (tasks.node[rows] >= 0)]

    def lost(self, job: Job, group: int = WHOLE) -> Rows:
        """[K] the tasks of a job, or a sub-group, on nodes that do not exist any more, where no others of it are
        placed: when they come back, they need room in the same domain as the next one that is placed."""
        placed = self._placed(job, group)
        tasks = self._cluster.ledger.tasks
        lost: Rows = placed if (self.tree.nearest[tasks.node[placed]] < 0).all() else placed[:0]
        return lost

    def tie(self, job: Job, group: int = WHOLE) -> int | None:
        """The lowest domain that holds all placed pods; None when there are none."""
        domains = self.placed_in(job, group)
        return self.tree.common(domains) if len(domains) else None

    def chain(self, job: Job, limit: int, group: int = WHOLE) -> list[int] | None:
        """The domains that may be used where pods have places already, the narrowest first; None when none has."""
        tie = self.tie(job, group)
        if tie is None:
            return None
        eligible, inside = self.eligible(limit), self.inside_of(job, group)
        at = np.array([tie], dtype=np.intp)
        if not self.tree.holds(inside, at)[0]:
            return []
        return [each for each in self.tree.ancestors(tie) if eligible[each] and each >= inside]

    def inside_of(self, job: Job, group: int = WHOLE) -> int:
        """The domain that the job, or the sub-group, is kept in meanwhile; the root when there is none."""
        return self._inside.get((job.row, group), self._inside.get((job.row, WHOLE), ROOT))

    @contextmanager
    def inside(self, job: Job, domain: int, group: int = WHOLE) -> Iterator[None]:
        """Meanwhile, the job, or one of its sub-groups, may use this domain alone."""
        key = job.row, group
        before = self._inside.get(key)
        self._inside[key] = domain
        try:
            yield
        finally:
            if before is None:
                del self._inside[key]
            else:
                self._inside[key] = before

    # -- nodes -----------------------------------------------------------------------------------------------------

    def confinement(self, job: Job, row: int) -> Confinement | None:
        """The nodes that the job's task in that row may use, as things stand; None for all."""
        if job.info.topology is None:
            return None
        nodes, group = self._allowed(job, WHOLE), self.group_of(job, row)
        narrower = None if group == WHOLE else self._allowed(job, group)
        if nodes is None and narrower is None:
            return None
        found = [each for each in (nodes, narrower) if each is not None]
        return Confinement(np.logical_and.reduce(found), self.pull(job, WHOLE if narrower is None else group))

    def _allowed(self, job: Job, group: int) -> Mask | None:
        """[N] the nodes that the next pod of the job, or the sub-group, may use by its limit; None for all."""
        limit = self.limit(job, group)
        if limit is None:
            return None
        chain = self.chain(job, limit, group)
        if chain is None:
            return self._union(limit, self.inside_of(job, group))
        if chain:
            return self._nodes(chain[-1])
        return np.zeros(self._cluster.ledger.nodes.size, dtype=np.bool_)

    def within(self, domain: int, pull: DomainScore | None = None) -> Confinement:
        """All nodes of a domain, which its job may use."""
        return Confinement(self._nodes(domain), pull)

    def nearest_only(self, domain: int) -> Confinement:
        """The nodes that are in a domain and in none below it."""
        key = (domain, -1)
        if key not in self._masks:
            self._masks[key] = self.tree.nearest == domain
        return Confinement(self._masks[key])

    def may_use(self, job: Job, row: int, nodes: NDArray[np.integer]) -> Mask:
        """[K] whether the job's task in that row may use the nodes."""
        confinement = self.confinement(job, row)
        return np.ones(len(nodes), dtype=np.bool_) if confinement is None else confinement.nodes[nodes]

    def pull(self, job: Job, group: int = WHOLE) -> DomainScore | None:
        """Scores that draw the next pods of the job, or the sub-group, towards those that it has."""
        calls = self._dispatch.calls("gathering_order")
        if not calls or len(self.tree) == 1:
            return None
        groups = None if group == WHOLE else self._cluster.sub_groups(job)
        pods = job.tasks if groups is None else int(np.count_nonzero(groups.group == groups.index(group)))
        placed = np.bincount(self.placed_in(job, group), minlength=len(self.tree))
        answer: DomainScore | None = calls[0](self.tree, placed, pods)
        return answer

    def _nodes(self, domain: int) -> Mask:
        """[N]"""
        if (domain,) not in self._masks:
            mask = np.zeros(self._cluster.ledger.nodes.size, dtype=np.bool_)
            mask[self.tree.nodes(domain)] = True
            self._masks[(domain,)] = mask
        return self._masks[(domain,)]

    def _union(self, limit: int, inside: int) -> Mask:
        """[N] the nodes of all domains that may hold a job with the limit, of those inside a domain."""
        key = (limit, inside, 0)
        if key not in self._masks:
            mask = np.zeros(self._cluster.ledger.nodes.size, dtype=np.bool_)
            for domain in np.flatnonzero(self.eligible(limit)).tolist():
                mask[self.tree.nodes(domain)] = True
            self._masks[key] = mask & self._nodes(inside)
        return self._masks[key]
