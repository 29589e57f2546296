"""The part of the API server that controllers need: five verbs, and the paths of objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from volcano_py.api.effects import Event, JsonObject
from volcano_py.api.json_values import Reader
from volcano_py.api.names import SCHEDULING_API, TOPOLOGY_API
from volcano_py.api.objects import ApiObject, ObjectMeta, OwnerReference
from volcano_py.api.shards.node_shards import SHARD_API
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError, RequestError, UnprocessableError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.jobs.model import BATCH_API

BUS_API: Final = "bus.volcano.sh/v1alpha1"

Record = Callable[[Event], None]
"""Takes an event to be posted; must not block."""
Learn = Callable[[str, ApiObject], None]
"""Takes an object of this kind that an answer has shown, as `Informers.learn` does: it goes to all that follow the
kind, the caller too, unless something newer is known."""
IsActive = Callable[[], bool]
"""Whether this replica holds the Lease, so that it may write."""


class _Any(ApiObject, frozen=True):
    """Any object."""

    metadata: ObjectMeta = ObjectMeta()


_ANY: Final = Reader(_Any)
_PLURALS: Final = {
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
    "Job": "jobs",
}


class KubeApi(Protocol):
    """The client's methods that are used here; errors are those of `cluster.kubernetes.errors`."""

    async def get(self, path: ApiPath, params: Mapping[str, str | int] | None = None) -> bytes:
        """The object or list at the path."""

    async def post(self, path: ApiPath, body: bytes | Mapping[str, Any] | list[Any]) -> bytes:
        """Create."""

    async def patch(self, path: ApiPath, body: bytes | Mapping[str, Any] | list[Any]) -> bytes:
        """Merge patch."""

    async def delete(self, path: ApiPath, body: bytes | Mapping[str, Any] | list[Any] | None = None) -> bytes:
        """Delete."""


def queue_path(name: str = "", subresource: str = "") -> ApiPath:
    """One queue, or all."""
    return ApiPath(SCHEDULING_API, "queues", name=name, subresource=subresource)


def hyper_node_path(name: str = "", subresource: str = "") -> ApiPath:
    """One HyperNode, or all."""
    return ApiPath(TOPOLOGY_API, "hypernodes", name=name, subresource=subresource)


def node_shard_path(name: str = "", subresource: str = "") -> ApiPath:
    """One NodeShard, or all."""
    return ApiPath(SHARD_API, "nodeshards", name=name, subresource=subresource)


def pod_group_path(namespace: str, name: str = "") -> ApiPath:
    """One PodGroup, or all of the namespace."""
    return ApiPath(SCHEDULING_API, "podgroups", namespace, name)


def pod_path(namespace: str, name: str = "") -> ApiPath:
    """One pod, or all of the namespace."""
    return ApiPath("v1", "pods", namespace, name)


def owner_path(namespace: str, owner: OwnerReference) -> ApiPath:
    """The owner of an object of the namespace; its kind is one of those whose annotations are inherited."""
    return ApiPath(owner.api_version, _PLURALS[owner.kind], namespace).of(owner.name)


def command_path(metadata: ObjectMeta) -> ApiPath:
    """One Command."""
    return ApiPath(BUS_API, "commands", metadata.namespace).of(metadata.name)


def job_path(namespace: str, name: str, subresource: str = "") -> ApiPath:
    """One Volcano Job."""
    return ApiPath(BATCH_API, "jobs", namespace, name, subresource)


def object_path(api_version: str, kind: str, namespace: str, name: str = "") -> ApiPath:
    """An object of the namespace, or all of its kind, whose plural follows English."""
    singular = kind.lower()
    ending = "ies" if singular.endswith("y") else "ses" if singular.endswith("ss") else "s"
    plural = singular.removesuffix("y" if ending == "ies" else "s" if ending == "ses" else "") + ending
    return ApiPath(api_version, plural, namespace, name)


async def created_or_found(api: KubeApi, path: ApiPath, body: JsonObject) -> tuple[bytes, bool]:
    """Create the object in the list at `path`. Where its name is taken, by an earlier attempt perhaps: what is there.

    Returns the object, and whether it was created.

    Raises:
        RequestError: it was refused; or what has its name is gone again.
    """
    try:
        return await api.post(path, body), True
    except ConflictError:
        return await api.get(path.of(body["metadata"]["name"])), False


def delete_options(uid: str, *, foreground: bool = False) -> JsonObject:
    """DeleteOptions: delete the object with this UID, never a namesake that came later.

    `foreground`: it stays, marked as being deleted, until everything that it owns is gone.
    """
    options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    return options | {"propagationPolicy": "Foreground"} if foreground else options


async def delete_object(api: KubeApi, path: ApiPath, uid: str, *, foreground: bool = False) -> bool:
    """Delete the object with this UID; False when it was gone already. `foreground`: see `delete_options`.

    Raises:
        RequestError: it is still there.
    """
    try:
        await api.delete(path, delete_options(uid, foreground=foreground))
    except RequestError as error:
        if not await is_gone(api, path, uid, error):
            raise
        return False
    return True


async def patch_status(
    api: KubeApi, path: ApiPath, metadata: ObjectMeta, changes: JsonObject, note: Callable[[bytes], None]
) -> bool:
    """Write what was decided on this version of the object at the path; False when there is no such object any more.

    `note` is given the object, as it was written, or as it is when it has changed meanwhile.

    Raises:
        RequestError: it has changed meanwhile, or the server refused.
    """
    precondition = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    try:
        note(await api.patch(path.sub("status"), {"metadata": precondition, "status": changes}))
    except RequestError as error:
        if not is_another_object(error):
            raise
        try:
            found = await api.get(path)
        except NotFoundError:
            return False
        note(found)
        raise
    return True


async def is_gone(api: KubeApi, path: ApiPath, uid: str, error: RequestError) -> bool:
    """Whether a request failed because the object with this UID is no more.

    A conflict alone does not prove it: an admission webhook may refuse with any code, and the server answers so when it
    has tried for too long to write among others. So the object is read.

    Raises:
        RequestError: it cannot be read.
    """
    if not is_another_object(error):
        return False
    if not isinstance(error, ConflictError):
        return True
    try:
        found = _ANY.decode(await api.get(path))
    except NotFoundError:
        return True
    return found.metadata.uid != uid


def is_another_object(error: RequestError) -> bool:
    """Whether the object that was meant is gone, has changed, or has been replaced by a namesake."""
    if isinstance(error, UnprocessableError):
        return error.is_about_another_object
    return isinstance(error, NotFoundError | ConflictError)
