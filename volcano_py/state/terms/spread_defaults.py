"""Default spreads: for pods of one Service or owner that do not say themselves how to spread them.

Each of our pods that waits, and has no topology spread constraints, gets the *term* with which kube-scheduler would
spread it: the pods that its Services and its owner select (see selections.py). The term book holds the term for as long
as such a pod waits, so that pods are counted by it. The column `spread` has its slot. What a cycle makes of it is the
plugins' affair.

A change of a selection reaches the pods with the next snapshot, as it can only alter which node is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.terms.pod_terms import PodTerm
from volcano_py.state.terms.selections import Changes, Selections, owner_of

if TYPE_CHECKING:
    from volcano_py.api.objects import Pod
    from volcano_py.state.terms.term_book import TermBook
    from volcano_py.state.terms.term_shares import TermShares

# Terms that are kept until the next snapshot: a replica that does not lead takes none.
_MOST_GIVEN_UP: Final = 1024
_SLICE: Final = 200  # pods; about 10 ms


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

    def __init__(self, ledger: Ledger, terms: TermBook, shares: TermShares) -> None:
        self.selections = Selections(self.settle)
        self._ledger = ledger
        self._terms = terms
        self._shares = shares
        self._waiting: dict[str, dict[int, _Waiting]] = {}
        """Namespace → task row → pod."""
        self._given_up: list[tuple[str, PodTerm]] = []
        self._to_look_at: list[tuple[str, Changes, list[int]]] = []
        """Namespaces, changes of selections there, and the task rows that have not been compared with them yet."""

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
        self._ledger.tasks.change(row).spread[row] = NOWHERE
        if gone.term is not None:
            self._give_up(namespace, gone.term)

    @property
    def is_settled(self) -> bool:
        """Whether pods are up to date with the selections."""
        return not (self._to_look_at or self.selections.have_changed)

    def settle(self) -> None:
        """Bring pods up to date with the selections."""
        while not self.is_settled:
            self.settle_some()
        self._leave_given_up()

    def settle_some(self) -> None:
        """Do a slice of that work: look at some of the pods that a change may concern."""
        if not self._to_look_at:
            changes = self.selections.take_changes()
            namespaces = {*changes.services, *(owner.split("/")[1] for owner in changes.owners)}
            self._to_look_at = [(name, changes, [*self._waiting.get(name, ())]) for name in namespaces]
        left = _SLICE
        while left > 0 and self._to_look_at:
            namespace, changes, rows = self._to_look_at[-1]
            while left > 0 and rows:
                left -= 1
                row = rows.pop()
                waiting = self._waiting.get(namespace, {}).get(row)
                if waiting is not None and changes.concern(namespace, waiting.labels, waiting.owner):
                    self._find(row, waiting)
            if not rows:
                self._to_look_at.pop()

    def _leave_given_up(self) -> None:
        given_up, self._given_up = self._given_up, []
        for namespace, term in given_up:
            self._shares.leave(namespace, (term,))
        self._shares.take_released()  # pods whose terms were too many try again with the next change of a selection

    def _find(self, row: int, waiting: _Waiting) -> None:
        """Work out the pod's term again."""
        selector = self.selections.of(waiting.namespace, waiting.labels, waiting.owner)
        old, new = waiting.term, PodTerm((waiting.namespace,), selector) if selector else None
        if new != old:
            if new is not None and self._shares.take(waiting.namespace, (new,)):
                new = None  # beyond what the namespace may hold, and only a default
            if new is not None:
                new = self._terms.term(self._terms.slot(new))  # pods with equal terms share one
            waiting.term = new
            if old is not None:
                self._give_up(waiting.namespace, old)
        slot = NOWHERE if waiting.term is None else self._terms.slot(waiting.term)
        self._ledger.tasks.change(row).spread[row] = slot

    def _give_up(self, namespace: str, term: PodTerm) -> None:
        self._given_up.append((namespace, term))
        if len(self._given_up) > _MOST_GIVEN_UP:
            self._leave_given_up()
