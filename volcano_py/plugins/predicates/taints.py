"""Taints and tolerations.

Semantics are those of Kubernetes' `Toleration.ToleratesTaint` and kube-scheduler's TaintToleration filter. Callers look
at each distinct set of taints once per list of tolerations, not once per node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from volcano_py.api.objects import Taint, Toleration
from volcano_py.api.wording.explain_nodes import untolerated_taint
from volcano_py.state.nodes.terms import whole_number

REFUSING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
EFFECTS: Final = ("NoSchedule", PREFER_NO_SCHEDULE, "NoExecute")
COMPARISONS: Final = ("Gt", "Lt")
TOLERATION_OPERATORS: Final = ("Equal", "Exists", *COMPARISONS)

_REFUSAL: Final = untolerated_taint("", "").partition("{")[0]
UNSCHEDULABLE: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""A pod that tolerates this may also go to a node with `spec.unschedulable` (a cordoned one)."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Empty effect: all effects. Empty key: all keys. Empty operator: Equal. An unknown operator tolerates nothing."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            # Kubernetes 1.35, feature gate TaintTolerationComparisonOperators
            bound, value = whole_number(toleration.value), whole_number(taint.value)
            if bound is None or value is None:
                return False
            return value > bound if toleration.operator == "Gt" else value < bound
        case _:
            return False


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def refusal_of(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> str | None:
    """What a node with these taints says to a pod with these tolerations: its first taint that keeps the pod away."""
    for taint in taints:
        if taint.effect in REFUSING_EFFECTS and not is_tolerated(taint, tolerations):
            return untolerated_taint(taint.key, taint.value)
    return None


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> list[Taint]:
    """All taints among these that keep the pod away."""
    return [taint for taint in taints if taint.effect in REFUSING_EFFECTS and not is_tolerated(taint, tolerations)]


def is_refusal(message: str) -> bool:
    """Whether it is a message of `refusal_of`."""
    return message.startswith(_REFUSAL)


def unwelcome(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> int:
    """How many PreferNoSchedule taints among these are not tolerated."""
    return sum(taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, tolerations) for taint in taints)
