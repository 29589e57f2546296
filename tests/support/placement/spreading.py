"""Topology spread as kube-scheduler defines it, pod by pod and node by node: what the scheduler is compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from volcano_py.api.objects import LabelSelector, TopologySpreadConstraint

MISMATCH = "node(s) didn't match pod topology spread constraints"
MISSING = f"{MISMATCH} (missing required label)"
HOSTNAME = "kubernetes.io/hostname"


@dataclass
class Place:
    """A node: its labels, the keys of its NoSchedule taints, and the labels of the pods on it that do not terminate."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[str] = ()
    pods: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """(namespace, labels) of each."""


@dataclass
class Newcomer:
    """The pod to be placed; it tolerates taints by their keys."""

    namespace: str
    labels: Mapping[str, str]
    constraints: Sequence[TopologySpreadConstraint]
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerates: Sequence[str] = ()


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """A missing selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    for one in selector.match_expressions:
        there = key_value = labels.get(one.key)
        met = {
            "In": there is not None and key_value in one.values,
            "NotIn": there is None or key_value not in one.values,
            "Exists": there is not None,
            "DoesNotExist": there is None,
        }[one.operator]
        if not met:
            return False
    return True


def counts(pod: Newcomer, constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> bool:
    """Whether labels are those of a pod that the constraint speaks of."""
    pinned = [key for key in constraint.match_label_keys if key in pod.labels]
    return matches(constraint.label_selector, labels) and all(labels.get(key) == pod.labels[key] for key in pinned)


def matching(pod: Newcomer, constraint: TopologySpreadConstraint, place: Place) -> int:
    """Nothing is counted for a selector without any condition."""
    selector = constraint.label_selector
    pinned = any(key in pod.labels for key in constraint.match_label_keys)
    if selector is None or not (selector.match_labels or selector.match_expressions or pinned):
        return 0
    return sum(namespace == pod.namespace and counts(pod, constraint, labels) for namespace, labels in place.pods)


def included(pod: Newcomer, constraint: TopologySpreadConstraint, place: Place) -> bool:
    """The constraint's node policies."""
    if constraint.node_affinity_policy == "Honor" and not pod.node_selector.items() <= place.labels.items():
        return False
    return constraint.node_taints_policy != "Honor" or set(place.taints) <= set(pod.tolerates)


def _has_keys(place: Place, constraints: Iterable[TopologySpreadConstraint]) -> bool:
    return all(constraint.topology_key in place.labels for constraint in constraints)


def refusals(pod: Newcomer, places: Sequence[Place]) -> dict[str, str]:
    """Node → what spread says against it, "" for nothing; other predicates are left out."""
    hard = [constraint for constraint in pod.constraints if constraint.when_unsatisfiable == "DoNotSchedule"]
    domains: list[dict[str, int]] = []
    for constraint in hard:
        found: dict[str, int] = {}
        for place in places:
            if _has_keys(place, hard) and included(pod, constraint, place):
                value = place.labels[constraint.topology_key]
                found[value] = found.get(value, 0) + matching(pod, constraint, place)
        domains.append(found)
    return {place.name: _refusal(pod, place, hard, domains) for place in places}


def _refusal(
    pod: Newcomer, place: Place, hard: Sequence[TopologySpreadConstraint], domains: Sequence[Mapping[str, int]]
) -> str:
    for constraint, found in zip(hard, domains, strict=True):
        value = place.labels.get(constraint.topology_key)
        if value is None:
            return MISSING
        fewest = min(found.values()) if len(found) >= (constraint.min_domains or 1) else 0
        own = counts(pod, constraint, pod.labels)
        if found.get(value, 0) + own - fewest > constraint.max_skew:
            return MISMATCH
    return ""


def scores(pod: Newcomer, places: Sequence[Place], feasible: Sequence[str]) -> dict[str, int]:
    """Feasible node → its normalised score, 0 to 100."""
    soft = [constraint for constraint in pod.constraints if constraint.when_unsatisfiable == "ScheduleAnyway"]
    judged = [place for place in places if place.name in feasible and _has_keys(place, soft)]
    raw = {place.name: 0.0 for place in judged}
    for constraint in soft:
        key = constraint.topology_key
        values = {place.labels[key] for place in judged}
        size = len(judged) if key == HOSTNAME else len(values)
        for place in judged:
            if key == HOSTNAME:
                pods = matching(pod, constraint, place)
            else:
                pods = sum(
                    matching(pod, constraint, other)
                    for other in places
                    if _has_keys(other, soft)
                    and included(pod, constraint, other)
                    and other.labels[key] == place.labels[key]
                )
            raw[place.name] += pods * math.log(size + 2) + (constraint.max_skew - 1)
    rounded = {name: math.floor(value + 0.5) for name, value in raw.items()}
    least, most = min(rounded.values(), default=0), max(rounded.values(), default=0)
    turned = {name: 100 if most == 0 else 100 * (most + least - value) // most for name, value in rounded.items()}
    return {name: turned.get(name, 0) for name in feasible}
