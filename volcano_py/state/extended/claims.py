"""Claims that were created for extended resources of pods, under the keys by which these pods know them.

A pod names its claim only once the claim has its devices, so the claim is found by its owner. From the decision until
the API server shows it with its devices, the claim is assumed to be there.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from volcano_py.state.devices.claims import Claim


class ExtendedClaims:
    """By the keys of pods (`extended_key`). A claim without devices, or that is being deleted, is of no use to its pod:
    it gets another one."""

    def __init__(self) -> None:
        self._shown: dict[str, dict[str, Claim]] = {}
        """Key of the pod → claims that it owns, by namespace/name."""
        self._assumed: dict[str, Claim] = {}
        self._of_pod: dict[str, str] = {}
        """UID of a pod → the key under which its claim is assumed."""

    def put(self, old: Claim | None, new: Claim | None) -> None:
        """A claim for extended resources has come, changed or gone."""
        if old is not None and old.extended:
            known = self._shown[old.extended]
            del known[old.key]
            if not known:
                del self._shown[old.extended]
        if new is not None and new.extended:
            self._shown.setdefault(new.extended, {})[new.key] = new
            if new.allocation is not None:
                self._drop(new.extended)

    def get(self, key: str) -> Claim | None:
        """The claim that the pod uses, with `key` for its key."""
        current = self._current(key)
        return self._assumed.get(key) if current is None else replace(current, key=key)

    def is_used(self, claim: Claim) -> bool:
        """Whether its pod uses this one."""
        return bool(claim.extended) and self._current(claim.extended) == claim

    def keys(self) -> Iterable[str]:
        """Those of all pods that have such claims."""
        return {*self._shown, *self._assumed}

    def of_pod(self, key: str) -> list[Claim]:
        """All that the API server shows, under their own keys."""
        return [*self._shown.get(key, {}).values()]

    def assume(self, claim: Claim) -> None:
        """The claim is being written, with its devices."""
        self._assumed[claim.key] = claim
        self._of_pod[claim.owner] = claim.key

    def assumed_for(self, pod: str) -> str | None:
        """The key of the pod with that UID, if a claim of its is assumed."""
        return self._of_pod.get(pod)

    def forget(self, pod: str) -> None:
        """Nothing is assumed for the pod with that UID any more."""
        if (key := self._of_pod.get(pod)) is not None:
            self._drop(key)

    def _drop(self, key: str) -> None:
        if (claim := self._assumed.pop(key, None)) is not None:
            del self._of_pod[claim.owner]

    def _current(self, key: str) -> Claim | None:
        shown = self._shown.get(key)
        if shown is None:
            return None  # (as of most pods)
        usable = (each for each in shown.values() if each.allocation and not each.is_deleting)
        return min(usable, key=lambda each: each.key, default=None)
