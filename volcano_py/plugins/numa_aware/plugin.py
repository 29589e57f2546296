"""numa-aware: nodes are chosen by which CPUs are free on each of their NUMA nodes.

A kubelet with the CPU manager policy `static` gives CPUs to containers of Guaranteed pods that ask for whole ones. By
the policy of its topology manager, it then refuses a pod whose CPUs are on more NUMA nodes than necessary. This plugin
chooses as the kubelet does, from what Volcano's resource-exporter writes into the node's Numatopology.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.config.flags import Flags
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, NodeView, Scores
from volcano_py.framework.views import Counts as TaskCounts
from volcano_py.plugins.numa_aware import wording
from volcano_py.plugins.numa_aware.arguments import NumaAwareArguments
from volcano_py.plugins.numa_aware.hints import Counts, Judged, choose, judge
from volcano_py.plugins.numa_aware.nodes import NumaNodes
from volcano_py.plugins.numa_aware.use import CpuUse
from volcano_py.state.numa.asked import BEST_EFFORT, POLICIES, RESTRICTED, STRICT, CpusAsked
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
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
        self._use = CpuUse(ssn, self._nodes)
        if (moment := ssn.snapshot.numa.awaited_until) and self._is_any_kept:
            ssn.wakeups.recheck_at(moment)

    def evictions_follow_from(self) -> Hashable:
        return self._ssn.snapshot.numa.version

    # -- nodes -------------------------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        codes = np.zeros(len(view), dtype=np.int32)
        asked = task_class.cpus
        if asked is None:
            return codes
        if asked.policy:
            self._refuse_others(codes, asked.policy, view)
        examined = np.flatnonzero((codes == FITS) & self._nodes.is_kept[view.rows])
        if asked.cores and len(examined):
            self._refuse_full(codes, asked, view, examined)
        return codes

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
        asked, sentences = task_class.cpus, list[str]()
        if asked is None:
            return sentences
        if wording.NO_OBJECT in refused:
            sentences.append(wording.DEPLOY)
        if any(message in refused for message in (wording.NOT_STATIC, *self._other_policies(asked.policy))):
            sentences.append(wording.set_policy(asked.policy))
        short = [message for texts in (wording.TOO_FEW, wording.TOO_SMALL) for message in texts.values()]
        if len(rows := np.concatenate([refused.rows(message) for message in short])):
            sentences.append(self._best_of(asked, np.sort(rows)))
        return sentences

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        """100 points less the part of the most NUMA nodes that a node would have to use, times the weight."""
        asked = task_class.cpus
        if asked is None or self.scores_nodes_alone(task_class):
            return None
        used = np.zeros(len(view), dtype=np.int64)
        kept = np.flatnonzero(self._nodes.is_kept[view.rows])
        used[kept] = self._judged(asked, view.rows[kept], released=view.released).used
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
                self._use.give(node, row, self._chosen(node, asked, released=is_promised))
            else:
                self._use.follow(node)

    def _chosen(self, node: int, asked: CpusAsked, *, released: bool) -> int:
        """The CPUs of the pod. If the policy refuses it, as a place that was kept for it may have changed, it gets what
        is there: nothing may be given twice."""
        layout, free = self._nodes.layout(node), self._use.free(node, released=released)
        policy = POLICIES[int(self._nodes.policy[node])]
        found = choose(layout, free, asked.cores, policy)
        return found if found is not None else choose(layout, free, asked.cores, BEST_EFFORT) or 0

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _is_examined(self, task_class: TaskClass) -> bool:
        """Whether any node may refuse such a pod, or it takes CPUs that are followed."""
        asked = task_class.cpus
        return asked is not None and (bool(asked.policy) or (bool(asked.cores) and self._is_any_kept))

    def _refuse_others(self, codes: Codes, policy: str, view: NodeView) -> None:
        """Nodes that are not for pods with this policy; the first reason counts."""
        nodes, rows = self._nodes, view.rows
        is_other = nodes.policy[rows] != POLICIES.index(policy)
        has_any = nodes.has_listed[rows]
        if view.released:
            has_any |= self._use.counts_of(rows, released=True).any(axis=1)
        for is_refused, message, can_change in (
            (~nodes.exists[rows], wording.NO_OBJECT, False),
            (~nodes.is_static[rows], wording.NOT_STATIC, False),
            *((is_other & where, message, False) for message, where in self._others(policy, rows)),
            (~nodes.has_layout[rows], wording.NO_LAYOUT, False),
            (~has_any, wording.NONE_LISTED, True),
        ):
            self._refuse(codes, is_refused, message, can_change=can_change)

    def _refuse_full(self, codes: Codes, asked: CpusAsked, view: NodeView, examined: Rows) -> None:
        """Those of the examined nodes (positions in the view) whose policy the pod would not pass."""
        rows = view.rows[examined]
        fits = self._judged(asked, rows, released=view.released).is_admitted
        if fits.all():
            return
        short = np.flatnonzero(~fits)
        fits_empty = self._judged(asked, rows[short], is_empty=True).is_admitted
        policy = self._nodes.policy[rows[short]]
        for name in STRICT:
            of_policy = np.zeros(len(view), dtype=np.bool_)
            of_policy[examined[short[policy == POLICIES.index(name)]]] = True
            may_fit = np.zeros(len(view), dtype=np.bool_)
            may_fit[examined[short[fits_empty]]] = True
            self._refuse(codes, of_policy & ~may_fit, wording.TOO_SMALL[name], can_change=False)
            self._refuse(codes, of_policy & may_fit, wording.TOO_FEW[name], can_change=True)

    def _refuse(self, codes: Codes, is_refused: Any, message: str, *, can_change: bool) -> None:
        """`can_change`: the refusal may end as pods leave."""
        at = np.flatnonzero(is_refused & (codes == FITS))
        if len(at):
            codes[at] = self._ssn.refusal(Reason.NODES_REFUSE, message, resolvable=can_change, transient=can_change)

    def _judged(self, asked: CpusAsked, rows: Rows, *, released: bool = False, is_empty: bool = False) -> Judged:
        """What one more pod gets on these nodes, which are all kept; `is_empty`: if no pod were there."""
        judged = Judged(np.ones(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.int64))
        policies = self._nodes.policies(rows)
        counts = self._use.counts_of(rows, released=released)
        for layout, at in self._nodes.by_layout(rows):
            unused = layout.cpus & ~layout.reserved
            there: Counts = counts[at, : len(layout.ids)]
            if is_empty:
                there = np.broadcast_to(np.array(layout.counts(unused)), there.shape)

            def free(place: int, at: Rows = at, unused: int = unused) -> int:
                return unused if is_empty else self._use.free(int(rows[at[place]]), released=released)

            found = judge(layout, there, asked, policies.at(at), free)
            judged.is_admitted[at], judged.used[at] = found.is_admitted, found.used
        return judged

    def _others(self, policy: str, rows: Rows) -> list[tuple[str, Any]]:
        """What nodes of each other policy say, and which of `rows` these are."""
        found: dict[str, Any] = {}
        for row_policy, where in self._nodes.by_policy(rows):
            message = wording.other_policy(row_policy, policy)
            found[message] = found.get(message, False) | where
        return [*found.items()]

    def _other_policies(self, policy: str) -> list[str]:
        names = ("none", "", *POLICIES)
        return [wording.other_policy(name, policy) for name in names if policy and name != policy]

    def _best_of(self, asked: CpusAsked, rows: Rows) -> str:
        """The node with the most CPUs free on one NUMA node, or in all, and what these are; the first by name."""
        counts = self._use.counts_of(rows, released=False)
        most = counts.sum(axis=1) if asked.policy == RESTRICTED else counts.max(axis=1)
        best = rows[most == most.max()]
        row = int(best[np.argmin(self._ssn.nodes.name_rank[best])])
        layout = self._nodes.layout(row)
        numa = zip(
            layout.ids, self._use.counts_of(np.array([row]), released=False)[0].tolist(), layout.sizes, strict=False
        )
        return wording.free_cpus(asked.cores, str(self._ssn.nodes.names[row]), numa)
