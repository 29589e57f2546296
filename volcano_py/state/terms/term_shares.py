"""How many different terms about pods each namespace holds, and whether it may hold more.

Every term is compared with every set of labels that it may match, and counts in every cycle. A namespace that holds
too many keeps only its own pods waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from volcano_py.api.bounds import CROWDED_TERMS, TERMS, TERMS_IN_ALL
from volcano_py.state.terms.anchors import Anchor
from volcano_py.state.terms.pod_terms import PodTerm
from volcano_py.state.terms.term_book import TermBook


class TermShares:
    """Takes terms from the book on behalf of namespaces."""

    def __init__(self, book: TermBook) -> None:
        self._book = book
        self._held: dict[str, Counter[PodTerm]] = {}
        self._at: Counter[tuple[str, Anchor]] = Counter()
        """Namespace and condition → how many different terms it has that are looked up by this condition."""
        self._in_all = 0
        self._released: set[str] = set()

    @property
    def has_released(self) -> bool:
        """Whether `take_released` would name any."""
        return bool(self._released)

    def take_released(self) -> set[str]:
        """Namespaces that have given back terms since this was last asked."""
        released, self._released = self._released, set()
        return released

    def take(self, namespace: str, terms: Iterable[PodTerm]) -> str:
        """Take these terms. Or none of them, and the answer says what is wrong with them; "" for nothing."""
        taken: list[PodTerm] = []
        for term in terms:
            self._take(namespace, term)
            taken.append(term)
            if problem := self._problem(namespace, term):
                self._leave(namespace, taken)
                return problem
        return ""

    def leave(self, namespace: str, terms: Iterable[PodTerm]) -> None:
        """Give back terms that were taken."""
        self._released.add(namespace)
        self._leave(namespace, terms)

    def _leave(self, namespace: str, terms: Iterable[PodTerm]) -> None:
        held = self._held[namespace]
        for term in terms:
            held[term] -= 1
            if not held[term]:
                del held[term]
                self._in_all -= 1
                for anchor in self._book.anchors(term):
                    self._at[namespace, anchor] -= 1
                    if not self._at[namespace, anchor]:
                        del self._at[namespace, anchor]
            self._book.leave(term)
        if not held:
            del self._held[namespace]

    def _take(self, namespace: str, term: PodTerm) -> None:
        self._book.take(term)
        held = self._held.setdefault(namespace, Counter())
        held[term] += 1
        if held[term] == 1:
            self._in_all += 1
            for anchor in self._book.anchors(term):
                self._at[namespace, anchor] += 1

    def _problem(self, namespace: str, term: PodTerm) -> str:
        if len(self._held[namespace]) > TERMS.most:
            return _beyond(f"pods of namespace {namespace} have {TERMS.most} different terms about other pods already")
        if self._in_all > TERMS_IN_ALL.most:
            return _beyond(f"pods have {TERMS_IN_ALL.most} different terms about other pods already")
        for anchor in self._book.anchors(term):
            if self._at[namespace, anchor] > CROWDED_TERMS.most:
                return (
                    f"pods of namespace {namespace} have {CROWDED_TERMS.most} different terms that are looked up by"
                    f" {_words(anchor)} already; select by a label with a value that fewer terms ask for (matchLabels,"
                    " or matchExpressions with In)"
                )
        return ""


def _beyond(found: str) -> str:
    return f"{found}, which is the limit; use the same affinity or spread in more pods, or in none"


def _words(anchor: Anchor) -> str:
    kind, *rest = anchor
    return f"{kind} {'='.join(rest)}" if rest else "no condition that all of them meet"
