"""What the controllers need of the API server: five verbs, and where the objects are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from volcano_py.api.effects import Event, JsonObject
from volcano_py.api.names import SCHEDULING_API
from volcano_py.api.objects import ObjectMeta, OwnerReference
from volcano_py.cluster.kubernetes.errors import ConflictError, NotFoundError, RequestError, UnprocessableError

BUS_API: Final = "bus.volcano.sh/v1alpha1"

Record = Callable[[Event], None]
"""Takes an event to be posted; must not block."""
IsActive = Callable[[], bool]
"""Whether this replica holds the Lease, so that it may write."""

_PLURALS: Final = {
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
    "Job": "jobs",
}


class KubeApi(Protocol):
    """The client's methods that are used here; errors are those of `cluster.kubernetes.errors`."""

    async def get(self, path: str, params: Mapping[str, str | int] | None = None) -> bytes:
        """The object or list at the path."""

    async def post(self, path: str, body: bytes | Mapping[str, Any] | list[Any]) -> bytes:
        """Create."""

    async def patch(self, path: str, body: bytes | Mapping[str, Any] | list[Any]) -> bytes:
        """Merge patch."""

    async def delete(self, path: str, body: bytes | Mapping[str, Any] | list[Any] | None = None) -> bytes:
        """Delete."""


def queue_path(name: str = "", subresource: str = "") -> str:
    """One queue, or all."""
    return _path(f"/apis/{SCHEDULING_API}/queues", name, subresource)


def pod_group_path(namespace: str, name: str = "") -> str:
    """One PodGroup, or all of the namespace."""
    return _path(f"/apis/{SCHEDULING_API}/namespaces/{namespace}/podgroups", name)


def pod_path(namespace: str, name: str) -> str:
    """One pod."""
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def owner_path(namespace: str, owner: OwnerReference) -> str:
    """The owner of an object of the namespace; its kind is one of those whose annotations are inherited."""
    return f"/apis/{owner.api_version}/namespaces/{namespace}/{_PLURALS[owner.kind]}/{owner.name}"


def command_path(metadata: ObjectMeta) -> str:
    """One Command."""
    return f"/apis/{BUS_API}/namespaces/{metadata.namespace}/commands/{metadata.name}"


def delete_only(uid: str) -> JsonObject:
    """DeleteOptions: delete the object with this UID, never a namesake that came later."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}


def is_another_object(error: RequestError) -> bool:
    """Whether the object that was meant is gone, has changed, or has been replaced by a namesake."""
    if isinstance(error, UnprocessableError):
        return error.is_about_another_object
    return isinstance(error, NotFoundError | ConflictError)


def _path(*parts: str) -> str:
    return "/".join(part for part in parts if part)
