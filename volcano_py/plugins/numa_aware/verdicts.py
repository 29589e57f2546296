"""What nodes say to the pods of a class: whether their CPUs would lie as the policies ask, and why not."""

from __future__ import annotations

from typing import Any

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.views import FITS, Codes, NodeView
from volcano_py.plugins.numa_aware import wording
from volcano_py.plugins.numa_aware.hints import Counts, Judged, judge
from volcano_py.plugins.numa_aware.nodes import NumaNodes
from volcano_py.plugins.numa_aware.use import CpuUse
from volcano_py.state.numa.asked import POLICIES, STRICT, CpusAsked
from volcano_py.state.table.table import Rows


class Verdicts:
    """For the classes of one cycle."""

    def __init__(self, cluster: ClusterCopy, nodes: NumaNodes, use: CpuUse) -> None:
        self._cluster, self._nodes, self._use = cluster, nodes, use

    def codes(self, asked: CpusAsked, view: NodeView) -> Codes:
        """[K] 0, or the refusal of each node."""
        codes = np.zeros(len(view), dtype=np.int32)
        if asked.policy:
            self._refuse_others(codes, asked.policy, view)
        examined = np.flatnonzero((codes == FITS) & self._nodes.is_kept[view.rows])
        if asked.cores and len(examined):
            self._refuse_full(codes, asked, view, examined)
        return codes

    def judged(self, asked: CpusAsked, rows: Rows, *, released: bool = False, is_empty: bool = False) -> Judged:
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

    # -- refusals ----------------------------------------------------------------------------------------------------

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
        fits = self.judged(asked, rows, released=view.released).is_admitted
        if fits.all():
            return
        short = np.flatnonzero(~fits)
        fits_empty = self.judged(asked, rows[short], is_empty=True).is_admitted
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
            codes[at] = self._cluster.refusal(Reason.NODES_REFUSE, message, resolvable=can_change, transient=can_change)

    def _others(self, policy: str, rows: Rows) -> list[tuple[str, Any]]:
        """What nodes of each other policy say, and which of `rows` these are."""
        found: dict[str, Any] = {}
        for row_policy, where in self._nodes.by_policy(rows):
            message = wording.other_policy(row_policy, policy)
            found[message] = found.get(message, False) | where
        return [*found.items()]
