"""Pods that others say belong together, and that do not say themselves how they are to be spread.

Each of our pods that waits, and has no topology spread constraints, gets the *term* by which kube-scheduler would
spread it: the pods that its Services and its owner select (see selections.py). The term book holds the term for as long
as such a pod waits, so that pods are counted by it. The column `spread` has its slot. What a cycle makes of it is the
plugins' affair.

A change of a selection reaches the pods with the next snapshot, as it can only alter which node is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from volcano_py.state.ledger import NOWHERE, Ledger
from volcano_py.state.pod_terms import PodTerm
from volcano_py.state.selections import Selections, owner_of

if TYPE_CHECKING:
    from volcano_py.api.objects import Pod
    from volcano_py.state.term_book import TermBook

# Terms that are kept until the next snapshot: a replica that does not lead takes none.
_MOST_GIVEN_UP: Final = 1024


class _Waiting(msgspec.Struct, eq=False):
    """One pod, as far as selections look at it."""

    namespace: str
    labels: Mapping[str, str]
    owner: str
    term: PodTerm | None = None


class SpreadDefaults:
    """See the module. Terms are given up at snapshots only: not with the event that shows the last pod bound, which
    would look as if the pod's company had changed.

    Attributes:
        selections: what is known of Services and owners.
    """

    def __init__(self, ledger: Ledger, terms: TermBook) -> None:
        self.selections = Selections(self.settle)
        self._ledger = ledger
        self._terms = terms
        self._waiting: dict[str, dict[int, _Waiting]] = {}
        """Namespace → task row → pod."""
        self._given_up: list[PodTerm] = []

    def put(self, row: int, pod: Pod) -> None:
        """The pod of that task row is one of ours and waits."""
        if pod.spec.topology_spread_constraints:
            self.take(row, pod.metadata.namespace)
            return
        meta, owner = pod.metadata, owner_of(pod)
        known = self._waiting.setdefault(meta.namespace, {}).get(row)
        if known is not None and known.owner == owner and known.labels == meta.labels:
            known.labels = meta.labels  # which the state keeps anyway
            return
        self.take(row, meta.namespace)
        waiting = self._waiting.setdefault(meta.namespace, {})[row] = _Waiting(meta.namespace, meta.labels, owner)
        self._find(row, waiting)

    def take(self, row: int, namespace: str) -> None:
        """The pod of that row waits no more, or is gone."""
        there = self._waiting.get(namespace)
        gone = there.pop(row, None) if there is not None else None
        if there is not None and not there:
            del self._waiting[namespace]
        if gone is None:
            return
        self._ledger.tasks.spread[row] = NOWHERE
        if gone.term is not None:
            self._give_up(gone.term)

    def settle(self) -> None:
        """Bring pods up to date with the selections."""
        changes = self.selections.take_changes()
        if changes.number:
            namespaces = {*changes.services, *(owner.split("/")[1] for owner in changes.owners)}
            for namespace in namespaces:
                for row, waiting in self._waiting.get(namespace, {}).items():
                    if changes.concern(namespace, waiting.labels, waiting.owner):
                        self._find(row, waiting)
        given_up, self._given_up = self._given_up, []
        for term in given_up:
            self._terms.leave(term)

    def _find(self, row: int, waiting: _Waiting) -> None:
        """Work out the pod's term anew."""
        selector = self.selections.of(waiting.namespace, waiting.labels, waiting.owner)
        old, new = waiting.term, PodTerm((waiting.namespace,), selector) if selector else None
        if new != old:
            if new is not None:
                new = self._terms.term(self._terms.take(new))  # pods with equal terms share one
            waiting.term = new
            if old is not None:
                self._give_up(old)
        self._ledger.tasks.spread[row] = NOWHERE if waiting.term is None else self._terms.slot(waiting.term)

    def _give_up(self, term: PodTerm) -> None:
        self._given_up.append(term)
        if len(self._given_up) > _MOST_GIVEN_UP:
            self.settle()
