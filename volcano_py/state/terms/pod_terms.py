"""Pod terms: "pods in these namespaces with these labels", as used by affinity and topology spread.

Terms are values: equal ones are the same term, however they were written. Evaluation is that of Kubernetes
(`metav1.LabelSelectorAsSelector`, kube-scheduler's `AffinityTerm.Matches`): a selector that is missing selects nothing,
an empty one everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from volcano_py.api.objects import LabelSelector

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that the API server puts on every namespace: its name."""


class Requirement(NamedTuple):
    """One condition on labels; values are sorted and distinct."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


Requirements = tuple[Requirement, ...]
"""All must be met; sorted and distinct. None in its place: nothing is selected."""


class PodTerm(msgspec.Struct, frozen=True, array_like=True):
    """Pods that meet `selector`, in one of `namespaces` or in a namespace whose labels meet `namespace_selector`."""

    namespaces: tuple[str, ...]
    selector: Requirements | None
    namespace_selector: Requirements | None = None


def requirements_of(selector: LabelSelector | None, more: Iterable[Requirement] = ()) -> Requirements | None:
    """The conditions of a selector, and `more`; None for a selector that is missing."""
    if selector is None:
        return None
    conditions = {Requirement(key, "In", (value,)) for key, value in selector.match_labels.items()}
    conditions.update(
        Requirement(one.key, one.operator, tuple(sorted(set(one.values)))) for one in selector.match_expressions
    )
    conditions.update(more)
    return tuple(sorted(conditions))


def meets(requirements: Requirements, labels: Mapping[str, str]) -> bool:
    """Whether labels meet all requirements. An unknown operator is met by none."""
    for key, operator, values in requirements:
        value = labels.get(key)
        if operator == "In":
            met = value is not None and value in values
        elif operator == "NotIn":
            met = value is None or value not in values
        elif operator == "Exists":
            met = value is not None
        else:
            met = operator == "DoesNotExist" and value is None
        if not met:
            return False
    return True


def matches(term: PodTerm, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
    """Whether a pod with these labels, in that namespace, is one of those that the term speaks of."""
    if term.selector is None or not meets(term.selector, labels):
        return False
    if namespace in term.namespaces:
        return True
    return term.namespace_selector is not None and meets(term.namespace_selector, namespace_labels)


def distinct(terms: Iterable[PodTerm]) -> tuple[PodTerm, ...]:
    """Each term once, in the order in which they come."""
    return tuple(dict.fromkeys(terms))
