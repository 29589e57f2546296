"""Namespace weights from ResourceQuotas (namespace fair share)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.objects import ResourceQuota
from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.api.wording.explain import cut

WEIGHT_KEY: Final = "volcano.sh/namespace.weight"
_NONE: Final = Fraction(0)
_HEAVIEST: Final = 2**63 - 1  # as the API server stores larger quantities; far beyond it there are no floats


def namespace_weights(quotas: Iterable[ResourceQuota]) -> Mapping[str, int]:
    """The highest valid weight of each namespace; namespaces without one are absent and count as 1."""
    weights: dict[str, int] = {}
    for quota in quotas:
        if isinstance(weight := read_weight(quota), int):
            namespace = quota.metadata.namespace
            weights[namespace] = max(weights.get(namespace, 0), weight)
    return weights


def read_weight(quota: ResourceQuota) -> int | Unreadable | None:
    """The weight that one quota gives its namespace, or what is wrong with it; None when there is none."""
    text = quota.spec.hard.get(WEIGHT_KEY)
    if text is None:
        return None
    try:
        value = parse_quantity(text)
    except QuantityError:
        value = _NONE
    if value > 0 and value.denominator == 1:
        return min(value.numerator, _HEAVIEST)
    fix = "write a whole number above 0, such as 3"
    return Unreadable(f"spec.hard {WEIGHT_KEY}", cut(str(text)), fix, "this quota gives its namespace no weight")
