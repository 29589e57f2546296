"""Soft topology spread constraints (ScheduleAnyway) in a session; the score is in spread_score.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from volcano_py.framework.domain_scores import DomainScore, Groups, Levels
from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.framework.session import Session
from volcano_py.plugins.nodeorder.spread_score import HOSTNAME, Counts, Crowds, SoftConstraint
from volcano_py.plugins.predicates.spread_domains import Layout, layout_of
from volcano_py.plugins.predicates.topology_spread import pods_per_node
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.spread import Spread

_ZONE: Final = "topology.kubernetes.io/zone"
_NO_DOMAINS: Final = np.zeros(1, dtype=np.int64)
SYSTEM_DEFAULTS: Final = ((HOSTNAME, 3), (_ZONE, 5))
"""Topology keys and `maxSkew` of kube-scheduler's defaults (podtopologyspread: systemDefaultConstraints)."""


class _SoftConstraints(msgspec.Struct, frozen=True):
    """`own`: the pods carry the constraints themselves. Nodes that lack one of the topology keys are then out of it."""

    spreads: tuple[Spread, ...]
    own: bool


class SoftSpread:
    """Scores of nodes by how many matching pods their domains have at this moment of the cycle."""

    def __init__(self, ssn: Session, *, by_default: bool) -> None:
        """`by_default`: pods that have no constraints are spread as well, if Services or their owner say which belong
        together."""
        self._ssn = ssn
        self._by_default = by_default
        self._soft_of: dict[int, _SoftConstraints] = {}

    def concerns(self, task_class: TaskClass) -> bool:
        """Whether the class has soft constraints."""
        return bool(self._soft(task_class).spreads)

    def domain_score(self, task_class: TaskClass, weight: int) -> DomainScore | None:
        """The scores of the class, from 0 to 100, times `weight`; None when it has no soft constraints."""
        soft = self._soft(task_class)
        if not soft.spreads:
            return None
        present = self._ssn.ledger.nodes.present
        layout = layout_of(self._ssn.nodes, present, task_class, soft.spreads, all_keys=soft.own, but_for=HOSTNAME)
        groups, first, levels = self._groups(layout, soft.spreads)
        over_bases = [self._constraint(layout, number, spread) for number, spread in enumerate(soft.spreads)]

        def ahead() -> Crowds:
            return Crowds(over_bases, Levels(layout.groups[first], levels), weight, all_keys=soft.own)

        return DomainScore(groups, len(first), ahead)

    def _groups(self, layout: Layout, spreads: Sequence[Spread]) -> tuple[Groups, Rows, Counts]:
        """[N] the group of each node, [G] a node of each, and [G] the pods on it that count where nodes are domains.

        A pod has one constraint of that kind at most: no two have the same key and action.
        """
        of_nodes = next((spread for spread in spreads if spread.topology_key == HOSTNAME), None)
        if of_nodes is None:
            groups, first = group_rows([layout.groups])
            return groups, first, np.zeros(len(first), dtype=np.int64)
        per_node = pods_per_node(self._ssn, of_nodes)
        groups, first = group_rows([layout.groups, per_node])
        return groups, first, per_node[first].astype(np.int64)

    def _soft(self, task_class: TaskClass) -> _SoftConstraints:
        soft = self._soft_of.get(task_class.row)
        if soft is None:
            soft = self._soft_of[task_class.row] = self._find(task_class)
        return soft

    def _find(self, task_class: TaskClass) -> _SoftConstraints:
        if task_class.spreads:
            return _SoftConstraints(tuple(spread for spread in task_class.spreads if not spread.required), own=True)
        term = task_class.spread_among
        if term is None or not self._by_default:
            return _SoftConstraints((), own=False)
        own = self._ssn.pod_counts.selects(task_class, term)
        defaults = (Spread(key, required=False, max_skew=skew, term=term, own=own) for key, skew in SYSTEM_DEFAULTS)
        return _SoftConstraints(tuple(defaults), own=False)

    def _constraint(self, layout: Layout, number: int, spread: Spread) -> SoftConstraint:
        domains = layout.domains[number]
        of_nodes = spread.topology_key == HOSTNAME
        per_node = None if of_nodes else pods_per_node(self._ssn, spread)
        return SoftConstraint(
            codes=layout.group_codes[number],
            counted=layout.group_counted[number],
            per_domain=_NO_DOMAINS if per_node is None else domains.sums(per_node),
            max_skew=spread.max_skew,
            of_nodes=of_nodes,
            own=spread.own and spread.term is not None,
        )
