"""Kubernetes' disruption controller over objects in memory: how many pods a PodDisruptionBudget allows to go, now.

As the real one: of the pods that are healthy, all beyond those that the budget wants healthy. A pod that has no scale
(pods alone, Jobs, DaemonSets) can be protected by a `minAvailable` in pods only; other budgets allow nothing then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from volcano_py.api.objects import Pod
from volcano_py.api.workloads import PodDisruptionBudget, Workload
from volcano_py.cluster.memory_volumes import Store
from volcano_py.state.terms.selectors import selects

_KIND: Final = "PodDisruptionBudget"
_WITHOUT_SCALE: Final = frozenset({"DaemonSet", "Job", "Node"})
_PERCENTAGE: Final = re.compile(r"(\d{1,9})%", re.ASCII)


class MemoryBudgets:
    """Keeps the budgets of one cluster in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._believed: dict[str, int | None] = {}
        """Budget → pods that must stay healthy, where its manifest says how many may go; None where it does not."""

    def run(self) -> None:
        """Write what every budget allows."""
        budgets = self._store.objects(_KIND, PodDisruptionBudget)
        if not budgets:
            return
        pods: dict[str, list[Pod]] = {budget.metadata.namespace: [] for budget in budgets}
        for pod in self._store.objects("Pod", Pod):
            if pod.metadata.namespace in pods and pod.status.phase not in ("Succeeded", "Failed"):
                pods[pod.metadata.namespace].append(pod)
        for budget in budgets:
            covered = [pod for pod in pods[budget.metadata.namespace] if _covers(budget, pod)]
            healthy = sum(_is_healthy(pod, budget) for pod in covered)
            wanted = self._wanted(budget, covered, healthy)
            allowed = 0 if wanted is None else max(0, healthy - wanted)
            self._store.put(_KIND, replace(budget, status=replace(budget.status, disruptions_allowed=allowed)))

    def _wanted(self, budget: PodDisruptionBudget, pods: Sequence[Pod], healthy: int) -> int | None:
        """How many must stay healthy; None when all that are."""
        key, allowed = budget.metadata.key, budget.status.disruptions_allowed
        believed = self._believed.setdefault(key, healthy - allowed if allowed > 0 else None)
        if believed is not None or not pods:
            return believed
        counted = self._counted(budget, pods)
        return None if counted is None else max(counted, budget.status.desired_healthy)

    def _counted(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> int | None:
        least, most = budget.spec.min_available, budget.spec.max_unavailable
        if most is None and isinstance(least, int):
            return least
        expected = self._expected(pods)
        share = _share(least if most is None else most, expected)
        if not expected or share is None:
            return None
        return share if most is None else expected - share

    def _expected(self, pods: Sequence[Pod]) -> int:
        """How many there should be, according to their owners; 0 when an owner has no scale."""
        owners = Counter(
            (owner.kind, f"{pod.metadata.namespace}/{owner.name}")
            for pod in pods
            if (owner := pod.metadata.controller) is not None
        )
        if any(kind in _WITHOUT_SCALE for kind, _ in owners):
            return 0
        return sum(self._scale(*owner, there) for owner, there in owners.items())

    def _scale(self, kind: str, key: str, there: int) -> int:
        """The replicas of an owner; as many as are `there` when the manifests do not have it."""
        workload = self._store.get(kind, key, Workload)
        replicas = workload.spec.replicas if workload is not None else None
        return there if replicas is None else replicas


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector = budget.spec.selector
    return selector is not None and selects(selector, pod.metadata.labels)


def _is_healthy(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """A manifest may leave out that a pod on its node is ready: kubelets take no time."""
    is_unready = any(condition.type == "Ready" and condition.status != "True" for condition in pod.status.conditions)
    is_leaving = pod.metadata.deletion_timestamp is not None or pod.metadata.name in budget.status.disrupted_pods
    return bool(pod.spec.node_name) and not is_unready and not is_leaving


def _share(amount: int | str | None, of: int) -> int | None:
    """A number, or a percentage rounded up; None when it is neither."""
    if amount is None or isinstance(amount, int):
        return amount
    percentage = _PERCENTAGE.fullmatch(amount)
    return None if percentage is None else -(-int(percentage[1]) * of // 100)
