"""Decisions about claims to devices that the API server does not show yet."""

from __future__ import annotations

from collections.abc import Collection

from volcano_py.api.devices.claims import Allocation
from volcano_py.api.effects import DeviceBinding


class Decisions:
    """By claim (namespace/name), and by pod (UID). Several pods may be about to use one claim: the binding of the first
    of them brings the allocation."""

    def __init__(self) -> None:
        self._of_claim: dict[str, dict[str, DeviceBinding]] = {}
        self._of_pod: dict[str, set[str]] = {}

    def put(self, pod: str, binding: DeviceBinding) -> None:
        """The pod is about to use the claim."""
        key = binding.claim.key
        self._of_claim.setdefault(key, {})[pod] = binding
        self._of_pod.setdefault(pod, set()).add(key)

    def drop(self, claim: str, pod: str) -> None:
        """Nothing is decided about the claim and that pod any more."""
        decided = self._of_claim.get(claim, {})
        if decided.pop(pod, None) is None:
            return
        if not decided:
            del self._of_claim[claim]
        self._of_pod[pod].discard(claim)
        if not self._of_pod[pod]:
            del self._of_pod[pod]

    def drop_claim(self, claim: str) -> None:
        """Nothing is decided about the claim any more."""
        for pod in [*self._of_claim.get(claim, ())]:
            self.drop(claim, pod)

    def of(self, claim: str) -> Collection[tuple[str, DeviceBinding]]:
        """What was decided about the claim: pods, and their bindings."""
        return self._of_claim.get(claim, {}).items()

    def claims_of(self, pod: str) -> list[str]:
        """The claims that the pod is about to use."""
        return sorted(self._of_pod.get(pod, ()))

    def allocation(self, claim: str) -> Allocation | None:
        """What the claim is about to get."""
        return next((binding.allocation for _, binding in self.of(claim) if binding.allocation is not None), None)
