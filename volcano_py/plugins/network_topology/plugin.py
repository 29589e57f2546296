"""network-topology-aware: jobs are kept together in the tree of HyperNodes.

Which domains a job may use follows from its limit (`hyper_node_gradient`); of those of one tier, the one that is filled
best by the job is tried first (`hyper_node_order`). The search itself is part of the framework, and of allocate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.effects import Event
from volcano_py.api.names import PLACED_IN_HYPER_NODE
from volcano_py.api.objects import Condition
from volcano_py.api.report import TierUse
from volcano_py.api.wording.explain_topology import placed_in, unknown_tier
from volcano_py.config.flags import Flags
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.domain_scores import DomainScore
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.topology.placements import Placement, group_placements, placements
from volcano_py.framework.views import NodeView, Scores
from volcano_py.plugins.network_topology.arguments import NetworkTopologyArguments
from volcano_py.plugins.network_topology.scores import Filling, Gathering
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.topology.tree import ROOT, Tree

UNKNOWN_TIER: Final = "UnknownTier"
_PLACED: Final = "Placed"
_NOT_PLACED: Final = "NotPlaced"
_HIGHEST: Final = 100.0
_GATHERED: Final = "gathered"


class NetworkTopologyAware(Plugin):
    """See the module."""

    name = "network-topology-aware"
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = NetworkTopologyArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._highest = _HIGHEST * float(arguments.weight)

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str] | None:
        """Pods of jobs that are kept together are scored by other rules than all others."""
        info = cluster.snapshot.jobs[job_row]
        if not cluster.snapshot.hyper_nodes or info is None or info.topology is None:
            return None
        return [_GATHERED] * len(rows)

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        ssn.topology.most_evicted_from = self.arguments.most_evicted_from
        ssn.topology.balances = self.arguments.balance
        weights = np.zeros(len(ssn.axis))
        for name, weight in self.arguments.weights().items():
            if (position := ssn.axis.index(name)) is not None:
                weights[position] = weight
        self._dims = np.flatnonzero(weights)
        self._weights = weights[self._dims]
        self._allocatable: NDArray[np.int64] | None = None
        self._placements: Mapping[int, Placement] = {}
        self._of_groups: Mapping[int, Mapping[int, Placement]] = {}

    def scores_follow_from(self) -> Hashable:
        return self._ssn.snapshot.hyper_nodes_version

    # -- domains ---------------------------------------------------------------------------------------------------

    def hyper_node_gradient(self, limit: int, tree: Tree) -> NDArray[np.bool_]:
        eligible: NDArray[np.bool_] = tree.tiers <= limit
        return eligible

    def hyper_node_order(self, request: NDArray[np.int64], tree: Tree, domains: Rows) -> Scores:
        """How full each would be with these pods: the weighted mean over the resources that they request and that have
        a weight; 0 where one of them would be exceeded. Pods that run are counted once, among what is in use."""
        asked = request[self._dims] > 0
        weights = self._weights[asked]
        if not len(weights):
            return np.zeros(len(domains))
        used = (self._used(tree)[domains] + request[self._dims])[:, asked]
        allocatable = self._capacity(tree)[domains][:, asked]
        parts = used / np.maximum(allocatable, 1)
        scores: Scores = (parts @ weights) / weights.sum() * self._highest
        scores[(used > allocatable).any(axis=1)] = 0.0
        return scores

    # -- nodes -----------------------------------------------------------------------------------------------------

    def gathering_order(self, tree: Tree, placed: NDArray[np.int64], pods: int) -> DomainScore | None:
        if not self._highest:
            return None
        return DomainScore(_groups(tree), len(tree), lambda: Gathering(tree, placed, pods, self._highest))

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:  # noqa: ARG002
        """Other pods prefer full HyperNodes, so that jobs that are kept together find others free."""
        tree = self._ssn.topology.tree if self._ssn.snapshot.hyper_nodes else None
        if tree is None or not self.arguments.normal_pods or not self._highest or self.name in task_class.variant:
            return None
        asked = task_class.request[self._dims] > 0
        if not asked.any():
            return None
        used, capacity = self._used(tree)[:, asked], self._capacity(tree)[:, asked]
        request, weights = task_class.request[self._dims][asked], self._weights[asked]
        fading = float(self.arguments.fading)
        return DomainScore(
            _groups(tree),
            len(tree),
            lambda: Filling(tree, used, capacity, request, weights, fading, self._highest),
        )

    def _used(self, tree: Tree) -> NDArray[np.int64]:
        """[H, D] what is in use of the resources that have a weight, at this moment."""
        used: NDArray[np.int64] = tree.sums(self._ssn.ledger.nodes.used[:, self._dims])
        return used

    def _capacity(self, tree: Tree) -> NDArray[np.int64]:
        """[H, D]"""
        if self._allocatable is None:
            self._allocatable = tree.sums(self._ssn.ledger.nodes.allocatable[:, self._dims])
        return self._allocatable

    # -- what is reported ------------------------------------------------------------------------------------------

    def on_session_close(self, ssn: Session) -> None:
        """Report where jobs were placed, tier names that do not exist, and what is wrong with HyperNodes: once each."""
        said: dict[tuple[str, str], str] = {}
        events: list[Event] = []

        def say(event: Event, key: str) -> None:
            said[event.about.uid, key] = event.message
            if self._known().get((event.about.uid, key)) != event.message:
                events.append(event)

        jobs = self._jobs()
        rows = np.array([job.row for job in jobs], dtype=np.intp)
        self._placements = placements(ssn.ledger, ssn.topology.tree, rows) if jobs else {}
        divided = [job.row for job in jobs if job.info.topology is not None and job.info.topology.limits_sub_groups]
        divided_rows = np.array(divided, dtype=np.intp)
        self._of_groups = group_placements(ssn.ledger, ssn.topology.tree, divided_rows) if divided else {}
        for job in jobs:
            name = ssn.topology.unknown_names.get(job.row)
            if name is not None:
                known = sorted(ssn.topology.tree.tier_of_name())
                say(Event(job.info.ref, "Warning", UNKNOWN_TIER, unknown_tier(*name, known)), UNKNOWN_TIER)
            if (where := self._where(job)) is None:
                continue
            ssn.findings.set_condition(job, where)
            if where.status == "True":
                say(Event(job.info.ref, "Normal", where.type, where.message), where.type)
        if ssn.snapshot.hyper_nodes:
            refs = {info.name: info.ref for info in ssn.snapshot.hyper_nodes}
            for fault in ssn.topology.tree.faults:
                say(Event(refs[fault.name], "Warning", fault.reason.value, fault.message), fault.message)
        ssn.emit(events)
        self.memory["said"] = said

    def _where(self, job: Job) -> Condition | None:
        """What is new of the domain that a job's pods are in, as a condition; None when nothing is, or the job is not
        complete yet."""
        placement = self._placements.get(job.row)
        known = next((each for each in job.info.conditions if each.type == PLACED_IN_HYPER_NODE), None)
        if placement is None:
            status, reason, message = "False", _NOT_PLACED, ""
            if known is None:
                return None
        else:
            domain = self._ssn.topology.tree.described(placement.domain)
            status, reason = "True", _PLACED
            message = placed_in(domain, placement.pods, self._groups_of(job))
        if known is not None and (known.status, known.reason, known.message) == (status, reason, message):
            return None
        if placement is not None and not self._ssn.ask.job_ready(job):
            return None
        since = datetime.fromtimestamp(self._ssn.now, tz=UTC)
        return Condition(
            type=PLACED_IN_HYPER_NODE, status=status, reason=reason, message=message, last_transition_time=since
        )

    def _groups_of(self, job: Job) -> list[tuple[str, str]]:
        """Name and domain of the job's sub-groups that have a limit of their own, in their order."""
        found = self._of_groups.get(job.row, {})
        groups = self._ssn.sub_groups(job) if found else None
        if groups is None:
            return []
        described = self._ssn.topology.tree.described
        return [
            (name, described(found[number].domain))
            for name, number, policy in zip(groups.names, groups.numbers, groups.policy.tolist(), strict=True)
            if number in found and groups.policies[policy].limit is not None
        ]

    def describe_network(self) -> Mapping[str, TierUse]:
        """By the tier of the smallest domain that has all pods of a job: the jobs, and the domains that they use."""
        tree = self._ssn.topology.tree
        jobs, domains = Counter[int](), Counter[int]()
        for placement in self._placements.values():
            tier = int(tree.tiers[placement.domain])
            jobs[tier] += 1
            domains[tier] += placement.parts
        names = {tier: name for name, tier in sorted(tree.tier_of_name().items(), reverse=True)}
        return {str(tier): TierUse(names.get(tier, ""), jobs[tier], domains[tier]) for tier in sorted(jobs)}

    def _known(self) -> dict[tuple[str, str], str]:
        known: dict[tuple[str, str], str] = self.memory.get("said", {})
        return known

    def _jobs(self) -> list[Job]:
        """Those that are kept together."""
        ssn = self._ssn
        infos = enumerate(ssn.snapshot.jobs)
        rows = [row for row, info in infos if info is not None and info.topology is not None and info.ref.uid]
        jobs = [job for row in rows if (job := ssn.job(row)) is not None]
        return [job for job in jobs if self._is_kept_together(job)]

    def _is_kept_together(self, job: Job) -> bool:
        """Whether the job as a whole, or each of some of its sub-groups, is."""
        topology = self._ssn.topology
        if topology.limit(job) is not None or job.row in topology.unknown_names:
            return True
        info = job.info.topology
        return info is not None and info.limits_sub_groups and topology.tree.has_hyper_nodes


def _groups(tree: Tree) -> NDArray[np.intp]:
    """[N] the nearest domain of each node; the root for those that do not exist."""
    return np.maximum(tree.nearest, ROOT)
