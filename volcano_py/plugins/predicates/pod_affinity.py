"""Which nodes required affinity and anti-affinity between pods allow.

Semantics are kube-scheduler's InterPodAffinity filter. A node is refused when

- some affinity term of the pod has no pod in the node's domain that matches *all* the pod's affinity terms, or the node
  lacks the topology label. The first pod of a group that matches its own terms may go to any node with the labels;
- an anti-affinity term of the pod matches a pod in the node's domain;
- a pod in the node's domain has an anti-affinity term that matches the pod.

Pods that are terminating count until they are gone. A pod that is only promised a place keeps others away from it, but
does not count yet: a pod with affinity to it waits with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_nodes import POD_AFFINITY_MISMATCH, POD_ANTI_AFFINITY_MISMATCH, POD_KEPT_AWAY
from volcano_py.framework.placement.pod_counts import Numbers, PodCounts, Tally
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.plugins.predicates.advice.pod_affinity import apart, company, kept_away
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.affinity import AffinityTerm

_Mask = NDArray[np.bool_]
_Ask = Callable[[], Tally]
_MESSAGES: Final = (POD_AFFINITY_MISMATCH, POD_ANTI_AFFINITY_MISMATCH, POD_KEPT_AWAY)
_NO_END: Final = np.iinfo(np.int64).max


class _Rules(msgspec.Struct, frozen=True, eq=False):
    """What counts for one class, as questions for live tallies.

    Attributes:
        company: pods that match all affinity terms, by each of their topology keys.
        matches_itself: the class's pods match all its affinity terms.
        apart: pods that match an anti-affinity term of the class.
        shunned_by: pods with an anti-affinity term that matches the class.
        repels_itself: two pods of the class may not be in one domain.
        by_node: each node is asked for itself alone.
    """

    company: tuple[_Ask, ...]
    matches_itself: bool
    apart: tuple[_Ask, ...]
    shunned_by: tuple[_Ask, ...]
    repels_itself: bool
    by_node: bool


class PodAffinity:
    """The filter in one cycle."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._rules_of: dict[int, _Rules | None] = {}
        self._lonely = ssn.refusal(Reason.NODES_REFUSE, POD_AFFINITY_MISMATCH, resolvable=False)
        self._company_is_promised = ssn.refusal(Reason.NODES_REFUSE, POD_AFFINITY_MISMATCH, transient=True)
        self._apart = ssn.refusal(Reason.NODES_REFUSE, POD_ANTI_AFFINITY_MISMATCH, transient=True)
        self._shunned = ssn.refusal(Reason.NODES_REFUSE, POD_KEPT_AWAY, transient=True)

    def refuse(self, task_class: TaskClass, view: NodeView, codes: Codes) -> None:
        """Write into `codes` [K] the refusals of nodes that say yes so far."""
        rules = self._rules(task_class)
        if rules is None:
            return
        rows = view.rows
        if rules.company:
            there = _in_company(rules, rows, released=view.released)
            lonely = (codes == FITS) & ~there
            codes[lonely] = self._lonely
            if lonely.any() and not view.released:
                codes[lonely & _in_company(rules, rows, released=True)] = self._company_is_promised
        for tallies, refusal in ((rules.apart, self._apart), (rules.shunned_by, self._shunned)):
            for ask in tallies:
                tally = ask()
                numbers = tally.staying if view.released else tally.taken
                codes[_occupied(tally, numbers, rows) & (codes == FITS)] = refusal

    def asked(self, task_class: TaskClass, refused: Refused) -> tuple[object, ...]:
        """All that the advice follows from, apart from where pods are; empty when nodes refuse for nothing of this."""
        if not any(message in refused for message in _MESSAGES):
            return ()
        return (task_class.affinity_terms, task_class.profile, *(refused.mask(message) for message in _MESSAGES))

    def advice(self, task_class: TaskClass, refused: Refused) -> Iterator[str]:
        """What would help a class that these nodes refuse."""
        wanted, unwanted = _required(task_class)
        if POD_AFFINITY_MISMATCH in refused:
            yield company(self._ssn, wanted)
        if POD_ANTI_AFFINITY_MISMATCH in refused:
            yield from apart(self._ssn, unwanted, refused.rows(POD_ANTI_AFFINITY_MISMATCH))
        if POD_KEPT_AWAY in refused:
            yield from kept_away(self._ssn, task_class, refused.rows(POD_KEPT_AWAY))

    def reach(self, task_class: TaskClass) -> Reach:
        """Where every domain is a node, keeping apart is that node's affair alone."""
        rules = self._rules(task_class)
        if rules is None:
            return Reach.STATIC
        return Reach.ROW if rules.by_node else Reach.DOMAIN

    def room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        """[K] how many tasks each node takes one after the other, as long as that changes nothing for other nodes."""
        rules = self._rules(task_class)
        if rules is None:
            return np.full(len(view), _NO_END)
        if rules.company and not any(_any(ask().taken) for ask in rules.company):
            return None  # where the first goes decides for all others
        if not rules.repels_itself:
            return np.full(len(view), _NO_END)
        return np.ones(len(view), dtype=np.int64) if rules.by_node else None

    def _rules(self, task_class: TaskClass) -> _Rules | None:
        if task_class.row not in self._rules_of:
            self._rules_of[task_class.row] = _rules_for(self._ssn, task_class)
        return self._rules_of[task_class.row]


def _required(task_class: TaskClass) -> tuple[list[AffinityTerm], list[AffinityTerm]]:
    """The required terms of podAffinity, and those of podAntiAffinity."""
    required = [term for term in task_class.affinity_terms if term.required]
    return [term for term in required if not term.anti], [term for term in required if term.anti]


def _rules_for(ssn: Session, task_class: TaskClass) -> _Rules | None:
    """None when nothing applies; without any term in the cluster this costs next to nothing."""
    if not task_class.profile and not task_class.affinity_terms:
        return None
    counts = ssn.pod_counts
    together, apart = _required(task_class)
    shunned_by = _shunned_by(counts, task_class)
    if not (together or apart or shunned_by):
        return None
    keeps_off: list[_Ask] = [partial(counts.matching, one.topology_key, (one.term,)) for one in apart]
    return _Rules(
        company=_company_of(counts, together),
        matches_itself=all(counts.selects(task_class, one.term) for one in together),
        apart=tuple(keeps_off),
        shunned_by=tuple(shunned_by),
        repels_itself=any(counts.selects(task_class, one.term) for one in apart),
        by_node=not together and all(ask().alone for ask in (*keeps_off, *shunned_by)),
    )


def _shunned_by(counts: PodCounts, task_class: TaskClass) -> list[_Ask]:
    """The domains of pods whose own anti-affinity keeps the class away."""
    return [
        partial(counts.carrying, carried.topology_key, classes)
        for carried, classes in counts.carriers(task_class)
        if carried.required and carried.anti
    ]


def _company_of(counts: PodCounts, together: Sequence[AffinityTerm]) -> tuple[_Ask, ...]:
    """For each topology key, the domains of pods that match all terms of affinity."""
    matched = tuple(one.term for one in together)
    return tuple(partial(counts.matching, key, matched) for key in dict.fromkeys(one.topology_key for one in together))


def _in_company(rules: _Rules, rows: Rows, *, released: bool) -> _Mask:
    """[K] nodes in whose domains there is (or with `released` will be) the company that the class wants."""
    tallies = [ask() for ask in rules.company]
    labelled = np.ones(len(rows), dtype=np.bool_)
    there = np.ones(len(rows), dtype=np.bool_)
    for tally in tallies:
        labelled &= tally.domain_of[rows] >= 0
        there &= _occupied(tally, tally.staying if released else tally.standing, rows)
    # no pod to join, and none that is promised a place: the first of the group
    if rules.matches_itself and not any(_any(_known(tally, released)) for tally in tallies):
        return labelled
    return there


def _known(tally: Tally, released: bool) -> Numbers:
    return tally.staying if released else tally.taken


def _any(numbers: Numbers) -> bool:
    """Whether any domain has pods; pods outside all domains do not count."""
    return bool(numbers[:-1].any())


def _occupied(tally: Tally, numbers: Numbers, rows: Rows) -> _Mask:
    """[K] nodes whose domain has pods; not those outside all domains."""
    occupied = numbers > 0
    occupied[-1] = False
    mask: _Mask = occupied[tally.domain_of[rows]]
    return mask
