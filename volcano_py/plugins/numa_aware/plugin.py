"""numa-aware: nodes are chosen by which CPUs are free on each of their NUMA nodes.

A kubelet with the CPU manager policy `static` gives CPUs to containers of Guaranteed pods that ask for whole ones. By
the policy of its topology manager, it then refuses a pod whose CPUs are on more NUMA nodes than necessary. This plugin
chooses as the kubelet does, from what Volcano's resource-exporter writes into the node's Numatopology.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from volcano_py.config.flags import Flags
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView, Scores
from volcano_py.framework.views import Counts as TaskCounts
from volcano_py.plugins.numa_aware.advice import Advice
from volcano_py.plugins.numa_aware.arguments import NumaAwareArguments
from volcano_py.plugins.numa_aware.departures import Departures, departures
from volcano_py.plugins.numa_aware.hints import choose_anyhow
from volcano_py.plugins.numa_aware.nodes import NumaNodes
from volcano_py.plugins.numa_aware.use import CpuUse
from volcano_py.plugins.numa_aware.verdicts import Verdicts
from volcano_py.state.numa.asked import BEST_EFFORT, POLICIES
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass

_PLENTY: Final = np.iinfo(np.int64).max
_PLACED: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


class NumaAware(Plugin):
    """See the module."""

    name = "numa-aware"
    arguments_type = NumaAwareArguments
    predicate_lasts = True
    sees_jobs_alike = True
    evictions_last = True
    allows_series = True

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._given: NumaAwareArguments = arguments

    def aligns_cpus(self) -> bool:
        return self.flags.allow("predicate")

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._nodes = NumaNodes(ssn)
        self._is_any_kept = bool(self._nodes.is_kept.any())
        self._departures = departures(self.memory, ssn.snapshot.numa, ssn.now) if self._is_any_kept else Departures()
        if self._departures.awaited_until:
            ssn.wakeups.recheck_at(self._departures.awaited_until)

    def evictions_follow_from(self) -> Hashable:
        """Numatopologies, and which of them still follow, if any pod that waits looks at them."""
        tasks = self._ssn.ledger.tasks
        waiting = np.unique(tasks.task_class[tasks.status == TaskStatus.PENDING]).tolist()
        classes = (self._ssn.snapshot.classes[row] for row in waiting)
        looks = any(each is not None and self._is_examined(each) for each in classes)
        return (self._ssn.snapshot.numa.version, self._departures.silent) if looks else ()

    # -- nodes -------------------------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        asked = task_class.cpus
        return np.zeros(len(view), dtype=np.int32) if asked is None else self._verdicts.codes(asked, view)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.ROW if self._is_examined(task_class) else Reach.STATIC

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes | None:
        return None if self._is_examined(task_class) else np.zeros(len(view), dtype=np.int32)

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> TaskCounts | None:
        """Where a container gets CPUs of one NUMA node, each NUMA node takes pods whatever the others do."""
        asked, room = task_class.cpus, np.full(len(view), _PLENTY)
        if asked is None or not asked.cores:
            return room
        kept = np.flatnonzero(self._nodes.is_kept[view.rows])
        strict = kept[self._nodes.policies(view.rows[kept]).is_strict]
        for layout, at in self._nodes.by_layout(view.rows[strict]):
            if len(asked.cores) > 1 or asked.cores[0] > max(layout.sizes):
                return None
            counts = self._use.counts_of(view.rows[strict[at]], released=view.released)
            room[strict[at]] = (counts // asked.cores[0]).sum(axis=1)
        return room

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> Sequence[str]:
        asked = task_class.cpus
        return [] if asked is None else Advice(self._ssn, self._nodes, self._use).of(asked, refused)

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        """100 points less the part of the most NUMA nodes that a node would have to use, times the weight."""
        asked = task_class.cpus
        if asked is None or self.scores_nodes_alone(task_class):
            return None
        used = np.zeros(len(view), dtype=np.int64)
        kept = np.flatnonzero(self._nodes.is_kept[view.rows])
        used[kept] = self._verdicts.judged(asked, view.rows[kept], released=view.released).used
        most = int(used.max(initial=0))
        return (self._given.weight * (100 - 100 * used // most)).astype(np.float64) if most else None

    def batch_node_order_reach(self, task_class: TaskClass) -> Reach:
        """A container that only gets as few NUMA nodes as possible gets equally many of them wherever it fits."""
        asked = task_class.cpus
        moves = asked is not None and (asked.policy == BEST_EFFORT or len(asked.cores) > 1)
        return Reach.DOMAIN if moves and not self.scores_nodes_alone(task_class) else Reach.FEASIBLE_SET

    def scores_nodes_alone(self, task_class: TaskClass) -> bool:
        asked = task_class.cpus
        return asked is None or not asked.policy or not asked.cores or not self._given.weight or not self._is_any_kept

    # -- what pods take ------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        self._follow(placement)

    def on_deallocate(self, placement: Placement) -> None:
        self._follow(placement)

    def _follow(self, placement: Placement) -> None:
        """Tasks were placed, evicted or taken back."""
        asked = placement.task_class.cpus
        if asked is None or not asked.cores or not self._is_any_kept:
            return
        status = self._ssn.ledger.tasks.status
        for row, node in zip(placement.rows.tolist(), placement.nodes.tolist(), strict=True):
            if not self._nodes.is_kept[node]:
                continue
            if status[row] == TaskStatus.PENDING:
                self._use.take_back(node, row)
            elif status[row] in _PLACED and not self._use.has(node, row):
                is_promised = status[row] != TaskStatus.ALLOCATED
                free, policy = self._use.free(node, released=is_promised), POLICIES[int(self._nodes.policy[node])]
                self._use.give(node, row, choose_anyhow(self._nodes.layout(node), free, asked.cores, policy))
            else:
                self._use.follow(node)

    # -- helpers -----------------------------------------------------------------------------------------------------

    @cached_property
    def _use(self) -> CpuUse:
        """(Only cycles that look at CPUs need it, and it costs the more the more pods have some.)"""
        return CpuUse(self._ssn, self._nodes, self._departures.silent)

    @cached_property
    def _verdicts(self) -> Verdicts:
        return Verdicts(self._ssn, self._nodes, self._use)

    def _is_examined(self, task_class: TaskClass) -> bool:
        """Whether any node may refuse such a pod, or it takes CPUs that are followed."""
        asked = task_class.cpus
        return asked is not None and (bool(asked.policy) or (bool(asked.cores) and self._is_any_kept))
