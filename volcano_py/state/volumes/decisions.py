"""Decisions about claims that the API server does not show yet."""

from __future__ import annotations

from collections.abc import Iterator, KeysView

import msgspec

from volcano_py.api.effects import ClaimBinding


class Decision(msgspec.Struct, frozen=True):
    """What a claim gets, for which pod (UID) and on which node."""

    pod: str
    binding: ClaimBinding
    node: str


class Decisions:
    """By claim (namespace/name), by pod and by volume."""

    def __init__(self) -> None:
        self._by_claim: dict[str, Decision] = {}
        self._by_pod: dict[str, set[str]] = {}
        self._claim_of: dict[str, str] = {}

    def put(self, decision: Decision) -> None:
        """In place of what was decided for that claim before."""
        key = decision.binding.claim.key
        self.drop(key)
        self._by_claim[key] = decision
        self._by_pod.setdefault(decision.pod, set()).add(key)
        if decision.binding.volume:
            self._claim_of[decision.binding.volume] = key

    def drop(self, claim: str) -> None:
        """Nothing is decided for the claim any more."""
        gone = self._by_claim.pop(claim, None)
        if gone is None:
            return
        self._by_pod[gone.pod].discard(claim)
        if not self._by_pod[gone.pod]:
            del self._by_pod[gone.pod]
        if self._claim_of.get(gone.binding.volume) == claim:
            del self._claim_of[gone.binding.volume]

    def drop_pod(self, pod: str) -> Iterator[str]:
        """Nothing is decided for the claims of the pod any more; yields these."""
        for claim in sorted(self._by_pod.get(pod, ())):
            self.drop(claim)
            yield claim

    def of(self, claim: str) -> Decision | None:
        """What was decided for the claim."""
        return self._by_claim.get(claim)

    def claim_of(self, volume: str) -> str:
        """The claim that gets the volume, "" if none."""
        return self._claim_of.get(volume, "")

    def volumes(self) -> KeysView[str]:
        """Names of the volumes that some claim gets."""
        return self._claim_of.keys()
