"""Affinity and anti-affinity between pods, as a pod carries them.

What is carried is resolved as far as the pod alone goes: the pod's own namespace where a term names none, and the
values of its labels for `matchLabelKeys` and `mismatchLabelKeys`. Pods whose terms come out equal carry the same. The
API server writes those two into the selectors of the pods it takes; manifests that it has not seen are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from volcano_py.api.bounds import NODE_TERMS, POD_TERMS
from volcano_py.api.objects import Affinity, Pod, PodAffinityTerm
from volcano_py.api.wording.explain import invalid_field
from volcano_py.state.terms.label_syntax import LABEL_KEY, NAME_A_LABEL, faults_of_selector, size_fault
from volcano_py.state.terms.pod_terms import PodTerm, Requirement, requirements_of

HEAVIEST: Final = 100
"""The API takes weights from 1 to 100."""

_FIELDS: Final = {False: "podAffinity", True: "podAntiAffinity"}


class AffinityTerm(msgspec.Struct, frozen=True, array_like=True):
    """One term: be together (or with `anti` apart) with the pods of `term`, on nodes with one value of `topology_key`.

    `weight` is from 1 to 100 for a preferred term, 0 for a required one.
    """

    anti: bool
    weight: int
    topology_key: str
    term: PodTerm

    @property
    def required(self) -> bool:
        return self.weight == 0


def affinity_terms(pod: Pod) -> tuple[AffinityTerm, ...]:
    """The terms that a pod carries, in order; none when any of them is malformed (see `affinity_fault`)."""
    affinity = pod.spec.affinity
    if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity) or affinity_fault(affinity):
        return ()
    meta = pod.metadata
    return tuple(
        AffinityTerm(one.anti, one.weight or 0, one.term.topology_key, _resolved(one.term, meta.namespace, meta.labels))
        for one in _written(affinity)
    )


def affinity_fault(affinity: Affinity | None) -> str | None:
    """The first thing wrong with what a pod says of nodes or of other pods, as field, finding and fix."""
    if affinity is None:
        return None
    if (nodes := affinity.node_affinity) is not None:
        terms = len(nodes.preferred) + (len(nodes.required.node_selector_terms) if nodes.required is not None else 0)
        if terms > NODE_TERMS.most:
            found = f"spec.affinity.nodeAffinity has {terms} terms"
            return f"{found}: at most {NODE_TERMS.most} are evaluated; list more values in one term"
    if not (affinity.pod_affinity or affinity.pod_anti_affinity):
        return None
    written = list(_written(affinity))
    if len(written) > POD_TERMS.most:
        return (
            f"spec.affinity has {len(written)} terms about pods: at most {POD_TERMS.most} are evaluated; select more"
            " pods with one term"
        )
    return next((fault for one in written for fault in _faults(one)), None)


def labels_read_by_affinity(affinity: Affinity) -> frozenset[str]:
    """The pod's own labels that its terms depend on."""
    return frozenset(
        key for one in _written(affinity) for key in (*one.term.match_label_keys, *one.term.mismatch_label_keys)
    )


class _Written(NamedTuple):
    """A term as written in a pod; `weight` is None for a required one."""

    anti: bool
    weight: int | None
    path: str
    term: PodAffinityTerm


def _written(affinity: Affinity) -> Iterator[_Written]:
    for anti, part in ((False, affinity.pod_affinity), (True, affinity.pod_anti_affinity)):
        if part is None:
            continue
        field = f"spec.affinity.{_FIELDS[anti]}"
        for number, term in enumerate(part.required):
            yield _Written(anti, None, f"{field}.requiredDuringSchedulingIgnoredDuringExecution[{number}]", term)
        for number, weighted in enumerate(part.preferred):
            path = f"{field}.preferredDuringSchedulingIgnoredDuringExecution[{number}]"
            yield _Written(anti, weighted.weight, path, weighted.pod_affinity_term)


def _faults(written: _Written) -> Iterator[str]:
    path, weight, term = written.path, written.weight, written.term
    if weight is not None:
        if not 1 <= weight <= HEAVIEST:
            yield invalid_field(f"{path}.weight", weight, f"give a weight from 1 to {HEAVIEST}")
        path = f"{path}.podAffinityTerm"
    names = len(term.namespaces) + len(term.match_label_keys) + len(term.mismatch_label_keys)
    if too_large := size_fault(path, term.label_selector, term.namespace_selector, names=names):
        yield too_large
        return
    if not LABEL_KEY.fullmatch(term.topology_key):
        yield invalid_field(f"{path}.topologyKey", term.topology_key, NAME_A_LABEL)
    yield from faults_of_selector(f"{path}.labelSelector", term.label_selector)
    yield from faults_of_selector(f"{path}.namespaceSelector", term.namespace_selector)
    for field, keys in (("matchLabelKeys", term.match_label_keys), ("mismatchLabelKeys", term.mismatch_label_keys)):
        if keys and term.label_selector is None:
            yield invalid_field(f"{path}.{field}", keys, "add a labelSelector for them to be merged into")
        for number, key in enumerate(keys):
            if not LABEL_KEY.fullmatch(key):
                yield invalid_field(f"{path}.{field}[{number}]", key, "name a label of the pod, such as app")


def _resolved(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    """Namespaces and a namespace selector add up; without both the pod's own namespace is meant."""
    own = (namespace,) if not term.namespaces and term.namespace_selector is None else ()
    return PodTerm(
        namespaces=own or tuple(sorted(set(term.namespaces))),
        selector=requirements_of(term.label_selector, _merged(term, labels)),
        namespace_selector=requirements_of(term.namespace_selector),
    )


def _merged(term: PodAffinityTerm, labels: Mapping[str, str]) -> Iterator[Requirement]:
    """What the two lists of label keys mean for a pod with these labels; a key that it lacks means nothing.

    A key that the selector speaks of already has been merged by the API server: with the value that the label had when
    the pod was made, which holds.
    """
    assert term.label_selector is not None or not (term.match_label_keys or term.mismatch_label_keys)
    spoken_of = {one.key for one in term.label_selector.match_expressions} if term.label_selector else set()
    for operator, keys in (("In", term.match_label_keys), ("NotIn", term.mismatch_label_keys)):
        for key in keys:
            if key in labels and key not in spoken_of:
                yield Requirement(key, operator, (labels[key],))
