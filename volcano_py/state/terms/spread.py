"""Topology spread constraints, as a pod carries them.

What is carried is resolved as far as the pod alone goes. Pods whose constraints come out equal are alike to the
scheduler, whatever else their labels say: a label with the number of the pod in its job does not split a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from volcano_py.api.bounds import SPREADS
from volcano_py.api.objects import Pod, TopologySpreadConstraint
from volcano_py.api.wording.explain import invalid_field
from volcano_py.state.terms.label_syntax import LABEL_KEY, faults_of_selector, size_fault
from volcano_py.state.terms.pod_terms import PodTerm, Requirement, Requirements, meets, requirements_of

_CONSTRAINTS: Final = "spec.topologySpreadConstraints"
_REQUIRED, _PREFERRED = "DoNotSchedule", "ScheduleAnyway"
_HONOR, _IGNORE = "Honor", "Ignore"


class Spread(msgspec.Struct, frozen=True, array_like=True):
    """One constraint.

    Attributes:
        topology_key: nodes with one value of this label are one domain.
        required: DoNotSchedule; otherwise ScheduleAnyway.
        max_skew: how many matching pods more a domain may have than the one that has fewest.
        min_domains: with fewer domains the fewest counts as 0.
        by_affinity: only nodes that pass the pod's node selector and required node affinity count.
        by_taints: only nodes whose taints the pod tolerates count.
        term: the pods that count; None: no pod does.
        own: whether the selector matches the pod itself.
    """

    topology_key: str
    required: bool
    max_skew: int
    min_domains: int = 1
    by_affinity: bool = True
    by_taints: bool = False
    term: PodTerm | None = None
    own: bool = False


def spreads_of(pod: Pod) -> tuple[Spread, ...]:
    """The constraints of a pod, in order; none when any of them is malformed (see `spread_fault`)."""
    constraints = pod.spec.topology_spread_constraints
    if not constraints or spread_fault(pod) is not None:
        return ()
    return tuple(_resolved(constraint, pod.metadata.namespace, pod.metadata.labels) for constraint in constraints)


def spread_fault(pod: Pod) -> str | None:
    """The first thing wrong with a pod's constraints, as field, finding and fix; also for preferred ones, as
    for kube-scheduler. The rules are those of Kubernetes' validation of pods."""
    constraints = pod.spec.topology_spread_constraints
    if len(constraints) > SPREADS.most:
        found = f"{_CONSTRAINTS} has {len(constraints)} entries"
        return f"{found}: at most {SPREADS.most} are evaluated; drop some"
    return next(_faults(constraints, pod.metadata.labels), None)


def labels_read_by_spread(constraints: Sequence[TopologySpreadConstraint]) -> frozenset[str]:
    """The pod's own labels that its constraints depend on."""
    keys: set[str] = set()
    for constraint in constraints:
        keys.update(constraint.match_label_keys)
        if constraint.label_selector is not None:
            keys.update(constraint.label_selector.match_labels)
            keys.update(requirement.key for requirement in constraint.label_selector.match_expressions)
    return frozenset(keys)


def _resolved(constraint: TopologySpreadConstraint, namespace: str, labels: Mapping[str, str]) -> Spread:
    """A missing selector matches nothing. With an empty one the pod matches itself, but nothing is counted: so it is in
    kube-scheduler."""
    selector = _selector(constraint, labels)
    return Spread(
        topology_key=constraint.topology_key,
        required=constraint.when_unsatisfiable == _REQUIRED,
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains or 1,
        by_affinity=constraint.node_affinity_policy == _HONOR,
        by_taints=constraint.node_taints_policy == _HONOR,
        term=PodTerm((namespace,), selector) if selector else None,
        own=selector is not None and meets(selector, labels),
    )


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Requirements | None:
    """`matchLabelKeys` go by the labels that the pod has now, as in kube-scheduler, although the API server (from 1.34
    on) writes those that the pod had at first into its selector."""
    pinned = (Requirement(key, "In", (labels[key],)) for key in constraint.match_label_keys if key in labels)
    return requirements_of(constraint.label_selector, pinned)


# -- what may be wrong ------------------------------------------------------------------------------------------------


def _faults(constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str]) -> Iterator[str]:
    seen: set[tuple[str, str]] = set()
    for number, constraint in enumerate(constraints):
        path = f"{_CONSTRAINTS}[{number}]"
        if too_large := size_fault(path, constraint.label_selector, names=len(constraint.match_label_keys)):
            yield too_large
            return
        yield from _faults_of_numbers(path, constraint)
        yield from _faults_of_words(path, constraint)
        yield from _faults_of_keys(path, constraint, labels)
        yield from faults_of_selector(f"{path}.labelSelector", constraint.label_selector)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield invalid_field(f"{path}.topologyKey", pair[0], f"another constraint has it, with {pair[1]}; keep one")
        seen.add(pair)


def _faults_of_numbers(path: str, constraint: TopologySpreadConstraint) -> Iterator[str]:
    if constraint.max_skew < 1:
        yield invalid_field(f"{path}.maxSkew", constraint.max_skew, "use 1 or more")
    if constraint.min_domains is None:
        return
    if constraint.min_domains < 1:
        yield invalid_field(f"{path}.minDomains", constraint.min_domains, "use 1 or more, or remove it")
    if constraint.when_unsatisfiable != _REQUIRED:
        fix = f"it works with whenUnsatisfiable {_REQUIRED} only; remove it"
        yield invalid_field(f"{path}.minDomains", constraint.min_domains, fix)


def _faults_of_words(path: str, constraint: TopologySpreadConstraint) -> Iterator[str]:
    if not constraint.topology_key:
        fix = "name a label of nodes, such as topology.kubernetes.io/zone"
        yield invalid_field(f"{path}.topologyKey", constraint.topology_key, fix)
    if constraint.when_unsatisfiable not in (_REQUIRED, _PREFERRED):
        fix = f"use {_REQUIRED} or {_PREFERRED}"
        yield invalid_field(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, fix)
    if constraint.node_affinity_policy not in (_HONOR, _IGNORE):
        yield invalid_field(f"{path}.nodeAffinityPolicy", constraint.node_affinity_policy, f"use {_HONOR} or {_IGNORE}")
    if constraint.node_taints_policy not in (_HONOR, _IGNORE):
        yield invalid_field(f"{path}.nodeTaintsPolicy", constraint.node_taints_policy, f"use {_HONOR} or {_IGNORE}")


def _faults_of_keys(path: str, constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Iterator[str]:
    keys, selector = constraint.match_label_keys, constraint.label_selector
    if selector is None:
        if keys:
            yield invalid_field(f"{path}.matchLabelKeys", keys, "add a labelSelector for them to narrow")
        return
    for number, key in enumerate(keys):
        if not LABEL_KEY.fullmatch(key):
            yield invalid_field(f"{path}.matchLabelKeys[{number}]", key, "name a label, such as pod-template-hash")
        # An expression with the key may be what the API server has made of this very field; an entry here is not.
        if key in labels and key in selector.match_labels:
            fix = "labelSelector has it, too; remove it from one of them"
            yield invalid_field(f"{path}.matchLabelKeys[{number}]", key, fix)
