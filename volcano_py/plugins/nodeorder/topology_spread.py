"""Topology spread constraints that are wishes, in a session; the score is in spread_score.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from volcano_py.framework.session import Session
from volcano_py.plugins.nodeorder.spread_score import HOSTNAME, Counts, Wish, spread_scores
from volcano_py.plugins.predicates.spread_domains import Domains, layout_of
from volcano_py.plugins.predicates.topology_spread import pods_per_node
from volcano_py.state.ledger import Rows
from volcano_py.state.spread import Spread
from volcano_py.state.task_class import TaskClass

_ZONE: Final = "topology.kubernetes.io/zone"
SYSTEM_DEFAULTS: Final = ((HOSTNAME, 3), (_ZONE, 5))
"""Topology keys and `maxSkew` of kube-scheduler's defaults (podtopologyspread: systemDefaultConstraints)."""


@dataclass(frozen=True, slots=True)
class _Wishes:
    """`own`: the pods carry the constraints themselves. Nodes that lack one of the topology keys are then out of it."""

    spreads: tuple[Spread, ...]
    own: bool


class SpreadWishes:
    """Scores of nodes by how many pods like these there are around, as things stand in this cycle."""

    def __init__(self, ssn: Session, *, by_default: bool) -> None:
        """`by_default`: pods that have no constraints are spread as well, if somebody says which belong together."""
        self._ssn = ssn
        self._by_default = by_default
        self._wishes_of: dict[int, _Wishes] = {}

    def concern(self, task_class: TaskClass) -> bool:
        """Whether the class is to be spread."""
        return bool(self._wishes(task_class).spreads)

    def scores(self, task_class: TaskClass, rows: Rows) -> Counts:
        """[K] from 0 to 100 for the nodes `rows`, which are all that may take the pod."""
        wishes = self._wishes(task_class)
        present = self._ssn.ledger.nodes.present
        layout = layout_of(self._ssn.nodes, present, task_class, wishes.spreads, all_keys=wishes.own)
        return spread_scores(list(map(self._wish, wishes.spreads, layout.domains)), rows, all_keys=wishes.own)

    def _wishes(self, task_class: TaskClass) -> _Wishes:
        wishes = self._wishes_of.get(task_class.row)
        if wishes is None:
            wishes = self._wishes_of[task_class.row] = self._find(task_class)
        return wishes

    def _find(self, task_class: TaskClass) -> _Wishes:
        if task_class.spreads:
            return _Wishes(tuple(spread for spread in task_class.spreads if not spread.required), own=True)
        term = task_class.spread_among
        if term is None or not self._by_default:
            return _Wishes((), own=False)
        own = self._ssn.pod_counts.selects(task_class, term)
        defaults = (Spread(key, required=False, max_skew=skew, term=term, own=own) for key, skew in SYSTEM_DEFAULTS)
        return _Wishes(tuple(defaults), own=False)

    def _wish(self, spread: Spread, domains: Domains) -> Wish:
        per_node = pods_per_node(self._ssn, spread)
        return Wish(
            codes=domains.codes,
            per_node=per_node,
            per_domain=domains.sums(per_node),
            max_skew=spread.max_skew,
            of_nodes=spread.topology_key == HOSTNAME,
        )
