"""Affinity between pods, evaluated pod by pod as kube-scheduler's documentation says it: the oracle of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    SelectorRequirement,
    WeightedPodAffinityTerm,
)
from volcano_py.state.terms.selectors import selects

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def term(key: str = HOST, *, namespaces: Sequence[str] = (), **labels: str) -> PodAffinityTerm:
    """Pods with these labels, in these namespaces or (without any) in the pod's own."""
    return PodAffinityTerm(
        topology_key=key, namespaces=list(namespaces), label_selector=LabelSelector(match_labels=labels)
    )


def near(*terms: PodAffinityTerm) -> Affinity:
    """Required affinity."""
    return Affinity(pod_affinity=PodAffinity(required=list(terms)))


def apart(*terms: PodAffinityTerm) -> Affinity:
    """Required anti-affinity."""
    return Affinity(pod_anti_affinity=PodAffinity(required=list(terms)))


def prefers(*terms: tuple[int, PodAffinityTerm]) -> Affinity:
    """Preferred affinity; with negative weights anti-affinity."""

    def weighted(sign: int) -> list[WeightedPodAffinityTerm]:
        return [
            WeightedPodAffinityTerm(weight=weight * sign, pod_affinity_term=one)
            for weight, one in terms
            if weight * sign > 0
        ]

    return Affinity(
        pod_affinity=PodAffinity(preferred=weighted(1)), pod_anti_affinity=PodAffinity(preferred=weighted(-1))
    )


def with_selector(one: PodAffinityTerm, **fields: Any) -> PodAffinityTerm:
    """The term with other fields."""
    changed: PodAffinityTerm = msgspec.structs.replace(one, **fields)
    return changed


@dataclass(frozen=True)
class Neighbourhood:
    """Nodes, the labels of namespaces, and pods that stand on nodes (`spec.node_name`)."""

    nodes: Mapping[str, Node]
    namespaces: Mapping[str, Mapping[str, str]]
    standing: Sequence[Pod]

    def refusal(self, pod: Pod, node: str) -> str:
        """What the node says, "" for yes."""
        if not self._has_company(pod, node):
            return "node(s) didn't match pod affinity rules"
        if any(self._shares(one, node, other) and self._means(pod, one, other) for one, other in self._apart(pod)):
            return "node(s) didn't match pod anti-affinity rules"
        for other in self.standing:
            for one in required(other, anti=True):
                if self._shares(one, node, other) and self._means(other, one, pod):
                    return "node(s) didn't satisfy existing pods anti-affinity rules"
        return ""

    def raw_score(self, pod: Pod, node: str) -> int:
        """Before it is normalised; the weight of others' required affinity is 1."""
        score = 0
        for other in self.standing:
            for weight, one in weighted(pod):
                if self._shares(one, node, other) and self._means(pod, one, other):
                    score += weight
            for weight, one in [*weighted(other), *((1, one) for one in required(other, anti=False))]:
                if self._shares(one, node, other) and self._means(other, one, pod):
                    score += weight
        return score

    def _has_company(self, pod: Pod, node: str) -> bool:
        wanted = required(pod, anti=False)
        if any(one.topology_key not in self._labels(node) for one in wanted):
            return False
        friends = [other for other in self.standing if all(self._means(pod, one, other) for one in wanted)]
        if all(any(self._shares(one, node, other) for other in friends) for one in wanted):
            return True
        is_alone = not any(
            one.topology_key in self._labels(other.spec.node_name) for other in friends for one in wanted
        )
        return is_alone and all(self._means(pod, one, pod) for one in wanted)

    def _apart(self, pod: Pod) -> Iterable[tuple[PodAffinityTerm, Pod]]:
        return ((one, other) for one in required(pod, anti=True) for other in self.standing)

    def _labels(self, node: str) -> Mapping[str, str]:
        return self.nodes[node].metadata.labels if node in self.nodes else {}

    def _shares(self, one: PodAffinityTerm, node: str, other: Pod) -> bool:
        """Whether the node is in the other pod's domain."""
        here, there = self._labels(node).get(one.topology_key), self._labels(other.spec.node_name).get(one.topology_key)
        return here is not None and here == there

    def _means(self, carrier: Pod, one: PodAffinityTerm, other: Pod) -> bool:
        """Whether the carrier's term is about the other pod."""
        namespace = other.metadata.namespace
        names = one.namespaces or ([] if one.namespace_selector is not None else [carrier.metadata.namespace])
        known = {"kubernetes.io/metadata.name": namespace, **self.namespaces.get(namespace, {})}
        if namespace not in names and (one.namespace_selector is None or not selects(one.namespace_selector, known)):
            return False
        if one.label_selector is None or not selects(one.label_selector, other.metadata.labels):
            return False
        own = carrier.metadata.labels
        merged = [
            SelectorRequirement(key=key, operator="In", values=[own[key]]) for key in one.match_label_keys if key in own
        ]
        merged += [
            SelectorRequirement(key=key, operator="NotIn", values=[own[key]])
            for key in one.mismatch_label_keys
            if key in own
        ]
        return selects(LabelSelector(match_expressions=merged), other.metadata.labels)


def required(pod: Pod, *, anti: bool) -> list[PodAffinityTerm]:
    part = _part(pod, anti)
    return part.required if part else []


def weighted(pod: Pod) -> list[tuple[int, PodAffinityTerm]]:
    """Preferred terms, those of anti-affinity with negative weights."""
    return [
        (-one.weight if anti else one.weight, one.pod_affinity_term)
        for anti in (False, True)
        if (part := _part(pod, anti))
        for one in part.preferred
    ]


def _part(pod: Pod, anti: bool) -> PodAffinity | None:
    affinity = pod.spec.affinity
    if affinity is None:
        return None
    return affinity.pod_anti_affinity if anti else affinity.pod_affinity
