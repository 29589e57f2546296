"""PodDisruptionBudgets, as far as evictions depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from volcano_py.api.objects import LabelSelector
from volcano_py.api.workloads import PodDisruptionBudget
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import ObjectStore
from volcano_py.state.terms.selectors import is_empty

if TYPE_CHECKING:
    from volcano_py.api.objects import ApiObject


class Budget(msgspec.Struct, frozen=True, eq=False):
    """One PodDisruptionBudget with a selector that has conditions; others protect no pod here."""

    name: str
    namespace: str
    selector: LabelSelector
    allowed: int
    """Pods that may be disrupted now (status.disruptionsAllowed)."""
    disrupted: frozenset[str]
    """Names of pods whose disruption is counted already."""


class Budgets:
    """Store of PodDisruptionBudgets."""

    def __init__(self) -> None:
        self._objects: ObjectStore[PodDisruptionBudget] = ObjectStore()
        self._known: Mapping[str, tuple[Budget, ...]] | None = None
        """The answer of `by_namespace`; None when a budget has changed since."""

    def upsert(self, budget: PodDisruptionBudget) -> Change:
        """What is no longer allowed changes nothing that waits; what is allowed now may."""
        old, self._known = self._objects.put(budget), None
        if old is not None and old.spec == budget.spec:
            eased = budget.status.disruptions_allowed > old.status.disruptions_allowed
            return Change.DECISION if eased else Change.LATER
        return Change.LATER if old is None else Change.DECISION

    def delete(self, budget: PodDisruptionBudget) -> Change:
        self._known = None
        return Change.NONE if self._objects.take(budget) is None else Change.DECISION

    def known(self) -> list[ApiObject]:
        return [*self._objects.all()]

    def by_namespace(self) -> Mapping[str, tuple[Budget, ...]]:
        """Worked out once, not for every snapshot."""
        if self._known is None:
            self._known = self._by_namespace()
        return self._known

    def _by_namespace(self) -> Mapping[str, tuple[Budget, ...]]:
        found: dict[str, list[Budget]] = {}
        for each in self._objects.all():
            selector, meta = each.spec.selector, each.metadata
            if selector is not None and not is_empty(selector):
                status = each.status
                disrupted = frozenset(status.disrupted_pods)
                budget = Budget(meta.name, meta.namespace, selector, status.disruptions_allowed, disrupted)
                found.setdefault(meta.namespace, []).append(budget)
        return {namespace: tuple(budgets) for namespace, budgets in found.items()}
