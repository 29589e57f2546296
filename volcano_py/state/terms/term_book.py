"""Which pods match which pod terms, kept up to date as pods, terms and namespaces come, go and change.

Pods are matched by their set of labels, not one by one: pods with the same labels in the same namespace share a slot.
The terms that match a set of labels are its *profile*. Most pods have the empty profile 0; all pods of a job that only
its own terms speak of have one more. So whatever counts pods by terms can go by profiles, of which there are few.

A term is held by the classes of pods that carry it and looked up by one of its conditions, a set of labels by what it
has; so a new one of either is compared with a few of the others, and a cluster without terms pays one look into a dict
for each pod.

A term may match all pods of the cluster, and a pod brings many terms. So terms are entered and taken out later, in
slices: `settle_some` does a part of that work, a picture has all of it.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.state.terms.anchors import Anchor, anchors_of_labels, ways_to_anchor
from volcano_py.state.terms.pod_terms import NAMESPACE_NAME, PodTerm, Requirement, matches
from volcano_py.state.terms.profiles import Profile, Profiles, with_term, without_term

_SLICE: Final = 2_000
"""Sets of labels that one slice of work looks at, and terms that it compares them with; about 5 ms. A single term is
never divided."""
_FEW: Final = 64
"""So many sets of labels are compared with a term one by one; more of them by what the index says."""


class TermPicture(msgspec.Struct, frozen=True, eq=False):
    """What one cycle sees of the book.

    Attributes:
        terms: by slot; None for slots that are free.
        profiles: by number; number 0 is the empty profile, free numbers are empty, too.
        profile_of: [L] number of the profile of each set of labels (the task table's column `labels`).
    """

    terms: list[PodTerm | None] = msgspec.field(default_factory=list)
    profiles: list[Profile] = msgspec.field(default_factory=lambda: [()])
    profile_of: NDArray[np.int32] = msgspec.field(default_factory=lambda: np.zeros(1, dtype=np.int32))


class _LabelSet(msgspec.Struct, eq=False):
    key: tuple[str, tuple[tuple[str, str], ...]]
    namespace: str
    labels: Mapping[str, str]
    pods: int = 0


class _Term(msgspec.Struct, eq=False):
    term: PodTerm
    anchors: tuple[Anchor, ...]
    holders: int = 0
    is_entered: bool = False
    """Whether the sets of labels that were known before it have been compared with it."""
    matched: set[int] = msgspec.field(default_factory=set)


class TermBook:
    """See the module. Slot 0 is for pods without labels and namespace, so that the column's fill value is valid."""

    def __init__(self) -> None:
        self._sets: list[_LabelSet | None] = []
        self._free_sets: list[int] = []
        self._slot_of_set: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._profile_of = array("i")
        self._profiles = Profiles()
        self._terms: list[_Term | None] = []
        self._free_terms: list[int] = []
        self._slot_of_term: dict[PodTerm, int] = {}
        self._sets_by: dict[Anchor, set[int]] = {}
        """Sets of labels by everything a term can be anchored at; filled once there is a first term."""
        self._is_indexing = False
        self._indexed = 0
        """Sets of labels in slots below this are in the index."""
        self._unsettled: dict[int, None] = {}
        """Slots of terms to enter, or that no pod holds any more, in the order of their changes."""
        self._terms_by: defaultdict[Anchor, set[int]] = defaultdict(set)
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self.take_labels("", {})

    # -- sets of labels --------------------------------------------------------------------------------------------

    def take_labels(self, namespace: str, labels: Mapping[str, str]) -> int:
        """The slot of these labels, with one pod more."""
        key = (namespace, tuple(labels.items()))
        slot = self._slot_of_set.get(key)
        if slot is None:
            slot = self._add_set(_LabelSet(key, namespace, labels))
        found = self._sets[slot]
        assert found is not None, "a slot without labels"
        found.pods += 1
        return slot

    def leave_labels(self, slot: int) -> None:
        """One pod less."""
        found = self._sets[slot]
        assert found is not None, "a slot without labels"
        found.pods -= 1
        if found.pods:
            return
        self._set_profile(slot, ())
        if slot < self._indexed:
            for anchor in anchors_of_labels(found.namespace, found.labels):
                self._sets_by[anchor].discard(slot)
                if not self._sets_by[anchor]:
                    del self._sets_by[anchor]
        del self._slot_of_set[found.key]
        self._sets[slot] = None
        self._free_sets.append(slot)

    def profile(self, labels_slot: int) -> int:
        """Number of the profile of a set of labels; 0 when no term that is settled matches it."""
        return self._profile_of[labels_slot]

    def _add_set(self, new: _LabelSet) -> int:
        if self._free_sets:
            slot = self._free_sets.pop()
        else:
            slot = len(self._sets)
            self._sets.append(None)
            self._profile_of.append(0)
            self._profiles.take(())
        self._sets[slot] = new
        self._slot_of_set[new.key] = slot
        if self._is_indexing and slot <= self._indexed:
            self._indexed = max(self._indexed, slot + 1)
            self._index_set(slot, new)
            self._match_set(slot, self._terms_near(new))
        return slot

    def _index_set(self, slot: int, labels: _LabelSet) -> None:
        for anchor in anchors_of_labels(labels.namespace, labels.labels):
            self._sets_by.setdefault(anchor, set()).add(slot)

    def _terms_near(self, labels: _LabelSet) -> set[int]:
        """Slots of the terms that may match a set of labels."""
        return {
            term
            for anchor in anchors_of_labels(labels.namespace, labels.labels)
            for term in self._terms_by.get(anchor, ())
        }

    def _match_set(self, slot: int, near: set[int]) -> bool:
        """Compare a set of labels with these terms; whether that changed anything."""
        return self._set_profile(slot, tuple(sorted(term for term in near if self._meets(self.term(term), slot))))

    def _meets(self, term: PodTerm, labels_slot: int) -> bool:
        labels = self._sets[labels_slot]
        assert labels is not None, "a slot without labels"
        return matches(term, labels.namespace, labels.labels, self._labels_of(labels.namespace))

    def _set_profile(self, slot: int, profile: Profile) -> bool:
        number = self._profile_of[slot]
        before = self._profiles.known[number]
        if before == profile:
            return False
        for term in before:
            self._matched(term).discard(slot)
        for term in profile:
            self._matched(term).add(slot)
        self._profile_of[slot] = self._profiles.take(profile)
        self._profiles.give_back(number)
        return True

    # -- terms -----------------------------------------------------------------------------------------------------

    def take(self, term: PodTerm) -> int:
        """The slot of the term, with one holder more."""
        slot = self._slot_of_term.get(term)
        if slot is None:
            slot = self._add_term(term)
        known = self._terms[slot]
        assert known is not None, "a slot without a term"
        known.holders += 1
        return slot

    def slot(self, term: PodTerm) -> int:
        """The slot of a term that is held."""
        return self._slot_of_term[term]

    def term(self, slot: int) -> PodTerm:
        """The term that has the slot."""
        known = self._terms[slot]
        assert known is not None, "a slot without a term"
        return known.term

    def anchors(self, term: PodTerm) -> tuple[Anchor, ...]:
        """The conditions that a term is looked up by."""
        known = self._terms[self._slot_of_term[term]]
        assert known is not None, "a slot without a term"
        return known.anchors

    def leave(self, term: PodTerm) -> None:
        """One holder less."""
        slot = self._slot_of_term[term]
        known = self._terms[slot]
        assert known is not None, "a slot without a term"
        known.holders -= 1
        if known.holders:
            return
        if known.is_entered:
            self._unsettled[slot] = None
        else:
            self._unsettled.pop(slot, None)
            self._take_out(slot, known)

    def _add_term(self, term: PodTerm) -> int:
        if self._free_terms:
            slot = self._free_terms.pop()
        else:
            slot = len(self._terms)
            self._terms.append(None)
        known = self._terms[slot] = _Term(term, self._anchors_of_term(term))
        self._slot_of_term[term] = slot
        for anchor in known.anchors:
            self._terms_by[anchor].add(slot)
        self._unsettled[slot] = None
        return slot

    def _anchors_of_term(self, term: PodTerm) -> tuple[Anchor, ...]:
        """Conditions of which a pod that matches meets one; the term is looked up by each of these. None: it matches no
        pod. Of several possibilities, the one at which there are fewest terms."""
        return min(ways_to_anchor(term), key=self._crowd, default=())

    def _crowd(self, anchors: tuple[Anchor, ...]) -> int:
        return sum(len(self._terms_by.get(anchor, ())) for anchor in anchors)

    # -- work that is done later -----------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether all terms and sets of labels have been compared."""
        return not (self._unsettled or (self._is_indexing and self._indexed < len(self._sets)))

    def settle(self) -> None:
        """Do all the work that is left."""
        while not self.is_settled:
            self.settle_some()

    def settle_some(self) -> None:
        """Do a slice of it."""
        self._is_indexing = True
        left = _SLICE
        while left > 0 and self._indexed < len(self._sets):
            slot = self._indexed
            self._indexed += 1
            known = self._sets[slot]
            if known is not None:
                self._index_set(slot, known)
                near = self._terms_near(known)
                self._match_set(slot, near)
                left -= len(near)
            left -= 1
        while left > 0 and self._unsettled:
            slot = next(iter(self._unsettled))
            del self._unsettled[slot]
            left -= 1 + self._settle_term(slot)

    def _settle_term(self, slot: int) -> int:
        """Enter the term, or take it out when no pod holds it. How many sets of labels that was about."""
        known = self._terms[slot]
        assert known is not None, "a slot without a term"
        if known.holders:
            if known.is_entered:
                return 0  # it was given up and taken again
            known.is_entered = True
            found = self._matching_sets(known)
            new = found - known.matched
            self._move(new, slot, with_term)
            known.matched |= new
            return len(found)
        self._take_out(slot, known)
        return len(known.matched)

    def _take_out(self, slot: int, known: _Term) -> None:
        self._move(known.matched, slot, without_term)
        for anchor in known.anchors:
            self._terms_by[anchor].discard(slot)
            if not self._terms_by[anchor]:
                del self._terms_by[anchor]
        del self._slot_of_term[known.term]
        self._terms[slot] = None
        self._free_terms.append(slot)

    def _move(self, labels_slots: Iterable[int], term: int, changed: Callable[[Profile, int], Profile]) -> None:
        """Give sets of labels the profile with the term, or without it; each profile is worked out once."""
        profiles, profile_of = self._profiles, self._profile_of
        new: dict[int, Profile] = {}
        for slot in labels_slots:
            number = profile_of[slot]
            if number not in new:
                new[number] = changed(profiles.known[number], term)
            profile_of[slot] = profiles.take(new[number])
            profiles.give_back(number)

    def _matching_sets(self, known: _Term) -> set[int]:
        """Slots of the sets of labels that the term matches."""
        by, term = self._sets_by, known.term
        found = set[int]().union(*(by.get(anchor, ()) for anchor in known.anchors))
        if len(found) <= _FEW:
            return {slot for slot in found if self._meets(term, slot)}
        for requirement in term.selector or ():
            found = self._meeting(requirement, found)
        if term.namespace_selector is None:
            return found & set[int]().union(*(by.get(("namespace", name), ()) for name in term.namespaces))
        if term.namespace_selector:
            return {slot for slot in found if self._meets(term, slot)}
        return found

    def _meeting(self, requirement: Requirement, found: set[int]) -> set[int]:
        """Those of these slots whose labels meet the requirement, by what the index says."""
        key, operator, values = requirement
        if operator in ("In", "NotIn"):
            having = set[int]().union(*(self._sets_by.get(("label", key, value), ()) for value in values))
        else:
            having = self._sets_by.get(("label", key), set())
        if operator in ("In", "Exists"):
            return found & having
        return found - having if operator in ("NotIn", "DoesNotExist") else set()

    def _matched(self, slot: int) -> set[int]:
        term = self._terms[slot]
        assert term is not None, "a slot without a term"
        return term.matched

    # -- namespaces ------------------------------------------------------------------------------------------------

    def namespace(self, name: str, labels: Mapping[str, str] | None) -> bool:
        """The labels of a namespace, None when it is gone; whether any pod's profile has changed by that."""
        new = None if labels is None else {NAMESPACE_NAME: name, **labels}
        if self._labels_of(name) == (new or {NAMESPACE_NAME: name}):
            return False
        self.settle()
        if new is None:
            del self._namespaces[name]
        else:
            self._namespaces[name] = new
        changed = False
        for slot in self._sets_by.get(("namespace", name), ()):
            labels_there = self._sets[slot]
            if labels_there is not None:
                changed = self._match_set(slot, self._terms_near(labels_there)) or changed
        return changed

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        """A namespace that is not known here has its name for a label, as all that an API server has made."""
        return self._namespaces.get(namespace) or {NAMESPACE_NAME: namespace}

    # -- for cycles ------------------------------------------------------------------------------------------------

    def picture(self) -> TermPicture:
        """A copy for a cycle, with all work done."""
        self.settle()
        return TermPicture(
            terms=[None if term is None else term.term for term in self._terms],
            profiles=self._profiles.known.copy(),
            profile_of=np.array(self._profile_of, dtype=np.int32),
        )
