"""Creates and deletes ResourceClaims for extended resources of pods, and says in a pod's status which one it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import msgspec

from volcano_py.api.devices.claims import DELETE_PROTECTION, DEVICE_API, ResourceClaim
from volcano_py.api.effects import ExtendedClaim, ObjectRef
from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ExtendedClaimStatus
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.new_claims import new_claim

T = TypeVar("T")

_ANSWER_WITHIN: Final = 15.0  # seconds for one attempt
_CLAIMS: Final = Reader(ResourceClaim)


class Insist(Protocol):
    """Sends requests for an object of a namespace when it is that namespace's turn; again, if they fail for a reason
    that may pass."""

    async def __call__(self, namespace: str, call: Callable[[], Awaitable[T]]) -> T: ...


FindClaims = Callable[[str, str], Sequence[ObjectRef]]
"""Namespace and UID of a pod → the claims for its extended resources, as they were seen last."""


class ExtendedClaims:
    """See the module."""

    def __init__(self, client: KubernetesClient, insist: Insist, find: FindClaims) -> None:
        self._client, self._insist, self._find = client, insist, find

    async def create(self, pod: ObjectRef, extended: ExtendedClaim) -> ResourceClaim:
        """A new claim of the pod. What is left of an earlier attempt goes first."""
        for claim in self._find(pod.namespace, pod.uid):
            await self.delete(claim)
        body = _typed(msgspec.to_builtins(new_claim(pod, extended)))

        async def attempt() -> ResourceClaim:
            path = ApiPath(DEVICE_API, "resourceclaims", pod.namespace)
            return _CLAIMS.decode(await self._client.post(path, msgspec.json.encode(body), within=_ANSWER_WITHIN))

        return await self._insist(pod.namespace, attempt)

    async def name_in_status(self, pod: ObjectRef, claim: str, extended: ExtendedClaim) -> None:
        """Say in the pod's status that it has this claim, for the kubelet."""
        await self._write(pod, ExtendedClaimStatus(request_mappings=list(extended.mappings), resource_claim_name=claim))

    async def take_back(self, pod: ObjectRef, claim: ObjectRef) -> None:
        """Delete the claim of a pod that is not bound after all, also from the pod's status: its next node may need no
        claim, and the kubelet starts no pod whose status names one that is not there."""
        await self.delete(claim)
        with suppress(NotFoundError):
            await self._write(pod, None)

    async def _write(self, pod: ObjectRef, status: ExtendedClaimStatus | None) -> None:
        body = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}

        async def attempt() -> None:
            path = ApiPath("v1", "pods", pod.namespace).of(pod.name).sub("status")
            await self._client.patch(path, msgspec.json.encode(body), within=_ANSWER_WITHIN)

        await self._insist(pod.namespace, attempt)

    async def delete(self, claim: ObjectRef) -> None:
        """Delete the claim, whether it has devices or not."""
        path = ApiPath(DEVICE_API, "resourceclaims", claim.namespace).of(claim.name)

        async def attempt() -> None:
            try:
                found = await self._client.read(path, ResourceClaim)
                if found.metadata.uid != claim.uid:
                    return
                left = [each for each in found.metadata.finalizers if each != DELETE_PROTECTION]
                if len(left) < len(found.metadata.finalizers):
                    version = {"uid": claim.uid, "resourceVersion": found.metadata.resource_version}
                    change = {"metadata": {**version, "finalizers": left}}
                    await self._client.patch(path, msgspec.json.encode(change), within=_ANSWER_WITHIN)
                options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": claim.uid}}
                await self._client.delete(path, options, within=_ANSWER_WITHIN)
            except NotFoundError:
                return

        await self._insist(claim.namespace, attempt)


def _typed(claim: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": DEVICE_API, "kind": "ResourceClaim", **claim}
