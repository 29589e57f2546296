"""Which pods match which pod terms, kept up to date as pods, terms and namespaces come, go and change.

Pods are matched by their set of labels, not one by one: pods with the same labels in the same namespace share a slot.
The terms that match a set of labels are its *profile*. Most pods have the empty profile 0; all pods of a job that only
its own terms speak of have one more. So whatever counts pods by terms can go by profiles, of which there are few.

A term is held by the classes of pods that carry it and looked up by one of its conditions, a set of labels by what it
has; so a new one of either is compared with a few of the others, and a cluster without terms pays one look into a dict
for each pod.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.state.pod_terms import NAMESPACE_NAME, PodTerm, Requirement, matches

Profile = tuple[int, ...]
"""Slots of terms, ascending."""

_Anchor = tuple[str, ...]
"""A condition without which a term does not match: a label with its value, a label, or a namespace."""

_ANYWHERE: Final[_Anchor] = ("anywhere",)


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
    anchors: tuple[_Anchor, ...]
    holders: int = 0
    matched: set[int] = msgspec.field(default_factory=set)


class TermBook:
    """See the module. Slot 0 is for pods without labels and namespace, so that the column's fill value is valid."""

    def __init__(self) -> None:
        self._sets: list[_LabelSet | None] = []
        self._free_sets: list[int] = []
        self._slot_of_set: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._profile_of = array("i")
        self._profiles = _Profiles()
        self._terms: list[_Term | None] = []
        self._free_terms: list[int] = []
        self._slot_of_term: dict[PodTerm, int] = {}
        self._sets_by: dict[_Anchor, set[int]] | None = None
        """Sets of labels by everything a term can be anchored at; made when there is a first term."""
        self._terms_by: defaultdict[_Anchor, set[int]] = defaultdict(set)
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
        if self._sets_by is not None:
            for anchor in _anchors_of_set(found):
                self._sets_by[anchor].discard(slot)
                if not self._sets_by[anchor]:
                    del self._sets_by[anchor]
        del self._slot_of_set[found.key]
        self._sets[slot] = None
        self._free_sets.append(slot)

    def profile(self, labels_slot: int) -> int:
        """Number of the profile of a set of labels; 0 when no term matches it."""
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
        if self._sets_by is not None:
            self._index_set(slot, new)
            self._match_set(slot, new)
        return slot

    def _index_set(self, slot: int, labels: _LabelSet) -> None:
        assert self._sets_by is not None
        for anchor in _anchors_of_set(labels):
            self._sets_by.setdefault(anchor, set()).add(slot)

    def _match_set(self, slot: int, labels: _LabelSet) -> bool:
        """Compare a set of labels with the terms that may match it; whether that changed anything."""
        near = {term for anchor in _anchors_of_set(labels) for term in self._terms_by.get(anchor, ())}
        return self._set_profile(slot, tuple(sorted(term for term in near if self._match(term, labels))))

    def _match(self, slot: int, labels: _LabelSet) -> bool:
        term = self._terms[slot]
        assert term is not None, "a slot without a term"
        return matches(term.term, labels.namespace, labels.labels, self._labels_of(labels.namespace))

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

    def leave(self, term: PodTerm) -> None:
        """One holder less."""
        slot = self._slot_of_term[term]
        known = self._terms[slot]
        assert known is not None, "a slot without a term"
        known.holders -= 1
        if known.holders:
            return
        for labels_slot in list(known.matched):
            profile = self._profiles.known[self._profile_of[labels_slot]]
            self._set_profile(labels_slot, tuple(other for other in profile if other != slot))
        for anchor in known.anchors:
            self._terms_by[anchor].discard(slot)
            if not self._terms_by[anchor]:
                del self._terms_by[anchor]
        del self._slot_of_term[term]
        self._terms[slot] = None
        self._free_terms.append(slot)

    def _add_term(self, term: PodTerm) -> int:
        if self._sets_by is None:
            self._sets_by = {}
            for slot, known in enumerate(self._sets):
                if known is not None:
                    self._index_set(slot, known)
        anchors = _anchors_of_term(term)
        if self._free_terms:
            slot = self._free_terms.pop()
        else:
            slot = len(self._terms)
            self._terms.append(None)
        self._terms[slot] = _Term(term, anchors)
        self._slot_of_term[term] = slot
        for anchor in anchors:
            self._terms_by[anchor].add(slot)
        for labels_slot in {near for anchor in anchors for near in self._sets_by.get(anchor, ())}:
            labels = self._sets[labels_slot]
            if labels is not None and self._match(slot, labels):
                profile = self._profiles.known[self._profile_of[labels_slot]]
                self._set_profile(labels_slot, tuple(sorted((*profile, slot))))
        return slot

    def _matched(self, slot: int) -> set[int]:
        term = self._terms[slot]
        assert term is not None, "a slot without a term"
        return term.matched

    # -- namespaces ------------------------------------------------------------------------------------------------

    def namespace(self, name: str, labels: Mapping[str, str] | None) -> bool:
        """The labels of a namespace, None when it is gone; whether any pod's profile has changed by that."""
        before = self._labels_of(name)
        if labels is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = {NAMESPACE_NAME: name, **labels}
        if self._sets_by is None or self._labels_of(name) == before:
            return False
        changed = False
        for slot in self._sets_by.get(("namespace", name), ()):
            labels_there = self._sets[slot]
            if labels_there is not None:
                changed = self._match_set(slot, labels_there) or changed
        return changed

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        """A namespace that is not known here has its name for a label, as all that an API server has made."""
        return self._namespaces.get(namespace) or {NAMESPACE_NAME: namespace}

    # -- for cycles ------------------------------------------------------------------------------------------------

    def picture(self) -> TermPicture:
        """A copy for a cycle."""
        return TermPicture(
            terms=[None if term is None else term.term for term in self._terms],
            profiles=self._profiles.known.copy(),
            profile_of=np.array(self._profile_of, dtype=np.int32),
        )


class _Profiles:
    """Numbers for profiles, for as long as a set of labels has them; number 0 for the empty one is for ever."""

    def __init__(self) -> None:
        self.known: list[Profile] = [()]
        self._numbers: dict[Profile, int] = {(): 0}
        self._holders = [1]
        self._free: list[int] = []

    def take(self, profile: Profile) -> int:
        number = self._numbers.get(profile)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number = len(self.known)
                self.known.append(())
                self._holders.append(0)
            self.known[number] = profile
            self._numbers[profile] = number
        self._holders[number] += 1
        return number

    def give_back(self, number: int) -> None:
        self._holders[number] -= 1
        if self._holders[number] == 0:
            del self._numbers[self.known[number]]
            self.known[number] = ()
            self._free.append(number)


def _anchors_of_set(labels: _LabelSet) -> Iterator[_Anchor]:
    yield _ANYWHERE
    yield ("namespace", labels.namespace)
    for key, value in labels.labels.items():
        yield ("label", key)
        yield ("label", key, value)


def _anchors_of_term(term: PodTerm) -> tuple[_Anchor, ...]:
    """The condition that likely leaves the fewest; the term is to be looked for at each of these. None: it matches no
    pod."""
    if term.selector is None:
        return ()
    narrow = min((one for one in term.selector if one.operator == "In"), key=_breadth, default=None)
    if narrow is not None:
        return tuple(("label", narrow.key, value) for value in narrow.values)
    exists = next((one for one in term.selector if one.operator == "Exists"), None)
    if exists is not None:
        return (("label", exists.key),)
    if term.namespace_selector is None:
        return tuple(("namespace", name) for name in term.namespaces)
    return (_ANYWHERE,)


def _breadth(requirement: Requirement) -> int:
    return len(requirement.values)


def distinct(terms: Iterable[PodTerm]) -> tuple[PodTerm, ...]:
    """Each term once, in the order in which they come."""
    return tuple(dict.fromkeys(terms))
