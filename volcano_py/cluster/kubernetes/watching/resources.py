"""Which resources the server has, and whether their status is a resource of its own.

Volcano's own PodGroup CRD has no status subresource, its Queue CRD has one, and both may change while we run.
"""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.paths import ApiPath

# Seconds. A CRD that loses the subresource is noticed by a 404; one that gains it would silently drop our patches.
_VALID_FOR: Final = 600.0


class _Resource(msgspec.Struct):
    name: str = ""


class _ResourceList(msgspec.Struct):
    resources: list[_Resource] = []


class StatusPaths:
    """Asks the server's discovery, once and again after a while."""

    def __init__(self, client: KubernetesClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._known: dict[str, tuple[float, frozenset[str]]] = {}

    async def subresource(self, group_version: str, plural: str) -> str:
        """The subresource of an object to patch for its status: `status`, or "" for the object itself.

        Raises:
            RequestError: the server cannot be asked, or does not know the group (404).
        """
        known = self._known.get(group_version)
        if known is None or self._clock.monotonic() >= known[0]:
            answer = await self._client.read(ApiPath(group_version), _ResourceList)
            known = self._clock.monotonic() + _VALID_FOR, frozenset(item.name for item in answer.resources)
            self._known[group_version] = known
        return "status" if f"{plural}/status" in known[1] else ""

    def forget(self) -> None:
        """Something did not fit what discovery said: ask again next time."""
        self._known.clear()
