"""Topology spread constraints that are wishes, in a session; the score is in spread_score.py."""

from __future__ import annotations

from volcano_py.framework.session import Session
from volcano_py.plugins.nodeorder.spread_score import HOSTNAME, Counts, Wish, spread_scores
from volcano_py.plugins.predicates.spread_domains import Domains, layout_of
from volcano_py.plugins.predicates.topology_spread import pods_per_node
from volcano_py.state.ledger import Rows
from volcano_py.state.spread import Spread
from volcano_py.state.task_class import TaskClass


class SpreadWishes:
    """Scores of nodes by how many pods like these there are around, as things stand in this cycle."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn

    def scores(self, task_class: TaskClass, rows: Rows) -> Counts:
        """[K] from 0 to 100 for the nodes `rows`, which are all that may take the pod."""
        spreads = [spread for spread in task_class.spreads if not spread.required]
        layout = layout_of(self._ssn.nodes, self._ssn.ledger.nodes.present, task_class, spreads)
        return spread_scores(list(map(self._wish, spreads, layout.domains)), rows)

    def _wish(self, spread: Spread, domains: Domains) -> Wish:
        per_node = pods_per_node(self._ssn, spread)
        return Wish(
            codes=domains.codes,
            per_node=per_node,
            per_domain=domains.sums(per_node),
            max_skew=spread.max_skew,
            of_nodes=spread.topology_key == HOSTNAME,
        )
