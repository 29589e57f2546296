"""Namespace weights from ResourceQuotas (namespace fair share)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from volcano_py.api.objects import ResourceQuota
from volcano_py.api.quantity import QuantityError, parse_quantity

WEIGHT_KEY: Final = "volcano.sh/namespace.weight"
_HEAVIEST: Final = 2**63 - 1  # as the API server stores larger quantities; far beyond it there are no floats


def namespace_weights(quotas: Iterable[ResourceQuota]) -> Mapping[str, int]:
    """The highest valid weight of each namespace; namespaces without one are absent and count as 1."""
    weights: dict[str, int] = {}
    for quota in quotas:
        text = quota.spec.hard.get(WEIGHT_KEY)
        if text is None:
            continue
        try:
            value = parse_quantity(text)
        except QuantityError:
            continue
        if value > 0 and value.denominator == 1:
            namespace = quota.metadata.namespace
            weights[namespace] = max(weights.get(namespace, 0), min(value.numerator, _HEAVIEST))
    return weights
