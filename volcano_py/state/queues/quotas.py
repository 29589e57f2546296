"""ResourceQuotas, as far as the admission of jobs depends on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from volcano_py.api.objects import ResourceList, ResourceQuota
from volcano_py.api.quantity import QuantityError, Rounding, parse_quantity, to_units
from volcano_py.state.queues.weights import WEIGHT_KEY

REQUESTS: Final = "requests."
LIMITS: Final = "limits."
_COUNT_OF_PODS: Final = frozenset({"pods", "count/pods"})


class Quota(msgspec.Struct, frozen=True):
    """One ResourceQuota without scopes. Amounts by the names that the quota uses (`requests.cpu`), in whole units.

    A quota with scopes counts some pods only, and which those will be is not known of a job whose pods do not exist.
    """

    name: str
    hard: Mapping[str, int]
    used: Mapping[str, int]


def resource_of(name: str) -> str:
    """The resource that a quota's name is about: `requests.cpu`, `limits.cpu` and `cpu` are about cpu."""
    if name in _COUNT_OF_PODS:
        return "pods"
    return name.removeprefix(REQUESTS).removeprefix(LIMITS)


def quota_units(amounts: ResourceList, rounding: Rounding) -> dict[str, int]:
    """Amounts in whole units (cpu in millicores); what cannot be read is left out."""
    units: dict[str, int] = {}
    for name, text in amounts.items():
        try:
            value = parse_quantity(text)
        except QuantityError:
            continue
        units[name] = to_units(value, scale=1000 if resource_of(name) == "cpu" else 1, rounding=rounding)
    return units


def quotas_by_namespace(quotas: Iterable[ResourceQuota]) -> Mapping[str, tuple[Quota, ...]]:
    """Quotas that limit anything, by name in each namespace. Until its status is written a quota has used nothing."""
    found: dict[str, list[Quota]] = {}
    for quota in quotas:
        written = quota.status.hard or quota.spec.hard
        hard = quota_units({name: text for name, text in written.items() if name != WEIGHT_KEY}, Rounding.DOWN)
        if hard and not quota.spec.scopes and not quota.spec.scope_selector:
            used = quota_units(quota.status.used, Rounding.UP)
            found.setdefault(quota.metadata.namespace, []).append(Quota(quota.metadata.name, hard, used))
    return {namespace: tuple(sorted(each, key=lambda one: one.name)) for namespace, each in found.items()}


def eased(old: ResourceQuota, new: ResourceQuota) -> bool:
    """Whether the quota lets more in than before: less is used, or something else is allowed."""
    if old.spec != new.spec or old.status.hard != new.status.hard:
        return True
    before, after = quota_units(old.status.used, Rounding.UP), quota_units(new.status.used, Rounding.UP)
    return any(after.get(name, 0) < amount for name, amount in before.items())
