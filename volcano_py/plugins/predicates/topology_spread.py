"""Topology spread constraints that must hold, in a session: a domain filter for each class of pods that has any.

Counted are pods of the same namespace that have a place and are not terminating, those placed earlier in this cycle
among them; so the pods of a gang see each other. Pods that are promised a place may not get there: what is bound now
has to keep to the rule with and without them, as with kube-scheduler's nominated pods. The rule is in spread_rule.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_nodes import SPREAD_LABEL_MISSING, SPREAD_MISMATCH
from volcano_py.api.wording.summarize import summarize
from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.placement.pod_counts import EACH_NODE, Tally
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes
from volcano_py.plugins.predicates.spread_domains import Layout, layout_of
from volcano_py.plugins.predicates.spread_rule import CROWDED, MISSING_LABEL, Limit, Standing, Verdicts
from volcano_py.state.nodes.index import ABSENT
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.spread import Spread

_MESSAGES: Final = (SPREAD_LABEL_MISSING, SPREAD_MISMATCH)


class _Rule(msgspec.Struct, frozen=True, eq=False):
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

    def domain_filter(self, task_class: TaskClass, *, released: bool) -> DomainFilter | None:
        """The constraints of the class now, or with `released` as they will be once promised places are
        taken; None when it has none that must hold."""
        rule = self._rule(task_class)
        if rule is None:
            return None
        standings = [self._standing(rule, promised=True)]
        if not released and self._promised(rule):
            standings.append(self._standing(rule, promised=False))
        return DomainFilter(rule.layout.groups, self._codes[_verdicts(standings)], lambda: _Ahead(standings))

    def refuse_for_good(self, task_class: TaskClass, rows: Rows, codes: Codes) -> None:
        """Write refusals of nodes without a label that a constraint needs into `codes` [K], where they are 0."""
        rule = self._rule(task_class)
        if rule is not None:
            unlabelled = (rule.layout.group_codes == ABSENT).any(axis=0)[rule.layout.groups[rows]]
            codes[unlabelled & (codes == FITS)] = self._codes[MISSING_LABEL]

    def asked(self, task_class: TaskClass, refused: Refused) -> tuple[object, ...]:
        """All that the advice follows from, apart from where pods are; empty when nodes refuse for nothing of this."""
        rule = self._rules.get(task_class.row)
        if rule is None or not any(message in refused for message in _MESSAGES):
            return ()
        # Classes with the same layout have the same one: it is kept.
        return (rule.spreads, id(rule.layout), *(refused.mask(message) for message in _MESSAGES))

    def advice(self, task_class: TaskClass, refused: Refused) -> Iterator[str]:
        """What would help a class that these nodes refuse."""
        rule = self._rules.get(task_class.row)
        if rule is None:
            return
        if SPREAD_LABEL_MISSING in refused:
            yield self._unlabelled(rule, refused.rows(SPREAD_LABEL_MISSING))
        if SPREAD_MISMATCH in refused:
            groups = np.unique(rule.layout.groups[refused.rows(SPREAD_MISMATCH)])
            standing = self._standing(rule, promised=True)
            for number, spread in enumerate(rule.spreads):
                codes = rule.layout.group_codes[number, groups]
                if standing.crowded(number)[codes[codes != ABSENT]].any():
                    yield self._crowded(rule, number, spread, standing)

    def _unlabelled(self, rule: _Rule, nodes: Rows) -> str:
        keys = [each.topology_key for each in rule.spreads]
        missing = [key for key in keys if not self._ssn.nodes.label(key).present[nodes].all()]
        names = summarize(sorted(self._ssn.nodes.names[nodes].tolist()))
        return f"topologySpreadConstraints need label {summarize(missing)}, which these nodes lack: {names}; label them"

    def _crowded(self, rule: _Rule, number: int, spread: Spread, standing: Standing) -> str:
        """Where the pod may still go for one of its constraints."""
        live, values = rule.layout.domains[number].live, self._ssn.nodes.label(spread.topology_key).values
        may_go = sorted(values[at] for at in np.flatnonzero(live & ~standing.crowded(number)).tolist())
        wants = f"topologySpreadConstraints over {spread.topology_key} with maxSkew {spread.max_skew}"
        if may_go:
            return f"{wants} allow only {summarize(may_go)}: free space there, or raise maxSkew"
        domains = int(np.count_nonzero(live))
        return (
            f"{wants} and minDomains {spread.min_domains} allow no domain, because there are {domains}: label nodes of "
            "other domains, or lower minDomains"
        )

    def _standing(self, rule: _Rule, *, promised: bool) -> Standing:
        counts = [
            domains.sums(pods_per_node(self._ssn, spread, promised=promised))
            for spread, domains in zip(rule.spreads, rule.layout.domains, strict=True)
        ]
        return Standing(rule.layout, rule.limits, counts)

    def _promised(self, rule: _Rule) -> bool:
        """Whether any of the pods that count is only promised its place."""
        tallies = [tally_of(self._ssn, spread) for spread in rule.spreads]
        return any(tally is not None and bool((tally.taken != tally.standing).any()) for tally in tallies)

    def _rule(self, task_class: TaskClass) -> _Rule | None:
        if task_class.row not in self._rules:
            self._rules[task_class.row] = self._read(task_class)
        return self._rules[task_class.row]

    def _read(self, task_class: TaskClass) -> _Rule | None:
        spreads = tuple(spread for spread in task_class.spreads if spread.required)
        if not spreads:
            return None
        refusal = self._ssn.refusal
        self._codes[MISSING_LABEL] = refusal(Reason.NODES_REFUSE, SPREAD_LABEL_MISSING, resolvable=False)
        self._codes[CROWDED] = refusal(Reason.NODES_REFUSE, SPREAD_MISMATCH)
        layout = layout_of(self._ssn.nodes, self._ssn.ledger.nodes.present, task_class, spreads)
        return _Rule(spreads, tuple(map(Limit.of, spreads)), layout)


def tally_of(ssn: Session, spread: Spread) -> Tally | None:
    """The pods on each node that the constraint's selector matches; None when it matches nothing."""
    return None if spread.term is None else ssn.pod_counts.matching(EACH_NODE, (spread.term,))


def pods_per_node(ssn: Session, spread: Spread, *, promised: bool = True) -> NDArray[np.int32]:
    """[N] the same as numbers; terminating pods are as good as gone, those that are `promised` a place count or not."""
    tally = tally_of(ssn, spread)
    if tally is None:
        return np.zeros(len(ssn.nodes.nodes), dtype=np.int32)
    numbers = tally.staying if promised else tally.staying - (tally.taken - tally.standing)
    # the last element is for nodes in no domain, which do not exist here
    return numbers[:-1]


def _verdicts(standings: Sequence[Standing]) -> Verdicts:
    """[G] the first no of each group."""
    said = standings[0].verdicts()
    for standing in standings[1:]:
        said = np.where(said == 0, standing.verdicts(), said)
    return said


class _Ahead:
    def __init__(self, standings: Sequence[Standing]) -> None:
        self._standings = [standing.copy() for standing in standings]

    def place(self, group: int) -> NDArray[np.bool_]:
        for standing in self._standings:
            standing.place(group)
        willing: NDArray[np.bool_] = _verdicts(self._standings) == FITS
        return willing
