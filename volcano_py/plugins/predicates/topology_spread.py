"""Topology spread constraints that must hold, in a session: a gate for each class of pods that has any.

Counted are pods of the same namespace that have a place and are not terminating, those placed earlier in this cycle
among them; so the pods of a gang see each other. The rule is in spread_rule.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.explain import SPREAD_LABEL_MISSING, SPREAD_MISMATCH
from volcano_py.api.reasons import Reason
from volcano_py.framework.gates import Gate
from volcano_py.framework.pod_counts import EACH_NODE
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS
from volcano_py.plugins.predicates.spread_domains import Domains, Layout, layout_of
from volcano_py.plugins.predicates.spread_rule import CROWDED, MISSING_LABEL, Limit, Standing
from volcano_py.state.spread import Spread
from volcano_py.state.task_class import TaskClass


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """What does not change in a session."""

    spreads: tuple[Spread, ...]
    limits: tuple[Limit, ...]
    layout: Layout


class TopologySpread:
    """See the module."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._rules: dict[int, _Rule | None] = {}
        self._codes: NDArray[np.int32] = np.zeros(3, dtype=np.int32)
        """Verdict → refusal id."""

    def gate(self, task_class: TaskClass) -> Gate | None:
        """The constraints of the class as things stand; None when it has none that must hold."""
        if task_class.row not in self._rules:
            self._rules[task_class.row] = self._read(task_class)
        rule = self._rules[task_class.row]
        if rule is None:
            return None
        counts = [
            matching_pods(self._ssn, spread, domains)
            for spread, domains in zip(rule.spreads, rule.layout.domains, strict=True)
        ]
        standing = Standing(rule.layout, rule.limits, counts)
        return Gate(rule.layout.groups, self._codes[standing.verdicts()], lambda: _Ahead(standing.copy()))

    def _read(self, task_class: TaskClass) -> _Rule | None:
        spreads = tuple(spread for spread in task_class.spreads if spread.required)
        if not spreads:
            return None
        refusal = self._ssn.refusal
        self._codes[MISSING_LABEL] = refusal(Reason.NODES_REFUSE, SPREAD_LABEL_MISSING, resolvable=False)
        self._codes[CROWDED] = refusal(Reason.NODES_REFUSE, SPREAD_MISMATCH)
        layout = layout_of(self._ssn.nodes, self._ssn.ledger.nodes.present, task_class, spreads)
        return _Rule(spreads, tuple(map(Limit.of, spreads)), layout)


def matching_pods(ssn: Session, spread: Spread, domains: Domains) -> NDArray[np.int64]:
    """[D] the pods that count for the constraint, by domain."""
    return domains.sums(pods_per_node(ssn, spread))


def pods_per_node(ssn: Session, spread: Spread) -> NDArray[np.int32]:
    """[N] the pods on each node that the constraint's selector matches; terminating ones are as good as gone."""
    if spread.term is None:
        return np.zeros(len(ssn.nodes.nodes), dtype=np.int32)
    # the last element is for nodes in no domain, which do not exist here
    per_node: NDArray[np.int32] = ssn.pod_counts.matching(EACH_NODE, (spread.term,)).staying[:-1]
    return per_node


class _Ahead:
    def __init__(self, standing: Standing) -> None:
        self._standing = standing

    def place(self, group: int) -> NDArray[np.bool_]:
        self._standing.place(group)
        willing: NDArray[np.bool_] = self._standing.verdicts() == FITS
        return willing
