"""A capture of a live cluster, with the rights of whoever asks. Nothing is written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

import msgspec

from volcano_py.api import names
from volcano_py.api.objects import ApiObject, ObjectMeta, Pod, PodGroup, PriorityClass
from volcano_py.api.shards.sharding import Sharding
from volcano_py.capture.contents import stripped
from volcano_py.capture.events import kept
from volcano_py.capture.events import listed as events_of
from volcano_py.capture.kinds import CONSEQUENCES, KINDS, NODE_METRICS, of_namespace, unread_elsewhere
from volcano_py.capture.model import BUILT_IN, Capture, Unread
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ApiError, ForbiddenError, NotFoundError
from volcano_py.cluster.kubernetes.http.paths import SERVER_VERSION, ApiPath
from volcano_py.cluster.kubernetes.http.unreadable import identify
from volcano_py.cluster.kubernetes.watching.decoding import Decoder
from volcano_py.cluster.kubernetes.watching.kinds import POD, PRIORITY_CLASS, VOLCANO_JOB, ConfigMap, Kind
from volcano_py.cluster.load.source import METRICS_SERVER
from volcano_py.cluster.manifests import Stored
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.config.config_key import config_key, no_config_key
from volcano_py.config.metrics import without_secrets
from volcano_py.scheduler import builtin_registry

_BUILT_IN_COUNTS: Final = "decisions follow from the built-in configuration"
_LEASES: Final = "coordination.k8s.io/v1"


class _Listed(msgspec.Struct, frozen=True):
    """The objects of one kind, and what of them could not be read. `revision`: the moment of the list."""

    objects: tuple[Stored, ...] = ()
    unread: tuple[Unread, ...] = ()
    revision: str = ""


class _Text(msgspec.Struct, frozen=True):
    text: str
    source: str = BUILT_IN
    unread: tuple[Unread, ...] = ()


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


class _Lease(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: dict[str, Any] = {}


async def of_cluster(
    client: KubernetesClient,
    *,
    scheduler_names: Iterable[str] = (names.DEFAULT_SCHEDULER_NAME,),
    default_queue: str = names.DEFAULT_QUEUE,
    sharding: Sharding | None = None,
    config_namespace: str = names.SYSTEM_NAMESPACE,
    namespace: str = "",
    with_events: bool = False,
) -> Capture:
    """The cluster now, with its events if asked. Kinds that cannot be read are missing, and `unread` says so. What may
    not be read in all namespaces is read in `namespace`, if one is given.

    All lists are of one resource version, that of the pods' list, where the API server still has it.

    Raises:
        UnauthorizedError: the login is not accepted.
        UnreachableError: there is no answer.
    """
    scheduled_by = frozenset(scheduler_names)
    configuration = await _configuration(client, config_namespace)
    pods = await _list(client, POD, "", namespace)
    taken = time.time()
    others = await asyncio.gather(
        *(_list(client, kind, pods.revision, namespace) for kind in KINDS if kind is not POD),
        _load(client, configuration.text),
    )
    listed = [pods, *others]
    items = [item for each in listed for item in each.objects]
    if not any(kind == PRIORITY_CLASS.name for kind, _ in items):
        items += _classes_of(items)
    events, refused = await events_of(client) if with_events else ([], None)
    of_one_moment = {each.revision for each in listed if each.revision}
    return Capture(
        taken=taken,
        items=tuple(items),
        configuration=without_secrets(configuration.text),
        source=configuration.source,
        scheduler_names=scheduled_by,
        default_queue=default_queue,
        sharding=sharding,
        events=kept(events, items, scheduled_by) if with_events and refused is None else None,
        unread=(
            *configuration.unread,
            *(each for found in listed for each in found.unread),
            *(() if refused is None else (refused,)),
        ),
        revision=pods.revision if len(of_one_moment) == 1 else "",
        leader=await _leader(client, config_namespace, scheduled_by),
        versions={"volcano-py": version("volcano-py"), **await _server_version(client)},
    )


async def _list(client: KubernetesClient, kind: Kind, revision: str, namespace: str = "") -> _Listed:
    """All objects of the kind: as of the revision, or ("" or the server does not have it any more) now. Those of the
    namespace where no more may be read."""
    try:
        try:
            return await _pages(client, kind, revision)
        except ApiError as error:
            if not revision or isinstance(error, ForbiddenError | NotFoundError):
                raise
            return await _pages(client, kind, "")
    except ForbiddenError as error:
        return await _in_namespace(client, kind, namespace, error.message or "forbidden")
    except NotFoundError:
        if kind.optional or kind is VOLCANO_JOB:
            return _Listed()
        return _unread(kind, f"the cluster does not serve {kind.path}")


async def _in_namespace(client: KubernetesClient, kind: Kind, namespace: str, why: str) -> _Listed:
    """The objects of the namespace, where that may be read; `why`: those of all may not."""
    own = of_namespace(kind, namespace) if namespace else None
    if own is None:
        return _unread(kind, why)
    try:
        found = await _pages(client, own, "")
    except (ForbiddenError, NotFoundError):
        return _unread(kind, why)
    return _Listed(found.objects, (*found.unread, unread_elsewhere(kind, namespace, why)), found.revision)


async def _pages(client: KubernetesClient, kind: Kind, revision: str) -> _Listed:
    decoder = Decoder(kind)
    objects: list[Stored] = []
    unread: list[Unread] = []
    params = {"resourceVersion": revision, "resourceVersionMatch": "Exact"} if revision else {}
    seen = ""
    async for page in client.pages(kind.path, params, accept=kind.list_accept):
        seen = seen or page.metadata.resource_version
        for item in page.items or ():
            try:
                obj = decoder.item(item)
            except msgspec.MsgspecError as error:
                unread.append(Unread(f"{kind.name} {identify(item).key}", str(error), "it counts as absent"))
            else:
                objects.append((kind.name, stripped(obj)))
    return _Listed(tuple(objects), tuple(unread), seen)


def _unread(kind: Kind, why: str) -> _Listed:
    return _Listed(unread=(Unread(kind.name, why, CONSEQUENCES[kind.name]),))


async def _configuration(client: KubernetesClient, namespace: str) -> _Text:
    what = f"ConfigMap {namespace}/{names.CONFIG_MAP}"
    built_in = default_configuration_text()
    try:
        found = await client.read(ApiPath("v1", "configmaps", namespace).of(names.CONFIG_MAP), ConfigMap)
    except NotFoundError:
        return _Text(built_in)  # as the daemon does it
    except ForbiddenError as error:
        return _Text(built_in, unread=(Unread(what, error.message or "forbidden", _BUILT_IN_COUNTS),))
    key = config_key(found.data)
    if key is None:
        return _Text(built_in, unread=(Unread(what, no_config_key(found.data), _BUILT_IN_COUNTS),))
    return _Text(found.data[key], what)


async def _load(client: KubernetesClient, configuration: str) -> _Listed:
    """What nodes use, where the configuration has that measured."""
    parsed = parse_configuration(configuration, builtin_registry().with_installed().catalogue()).config
    source = parsed.metrics.get("type", "") if parsed is not None else ""
    if source == METRICS_SERVER:
        listed = await _list(client, NODE_METRICS, "")
        return _Listed(listed.objects, listed.unread)  # its versions are no revisions of the API server's
    if source:
        return _unread(NODE_METRICS, f"the configuration measures load with {source}, which is not asked")
    return _Listed()


async def _leader(client: KubernetesClient, namespace: str, scheduler_names: frozenset[str]) -> str:
    """Holder of the scheduler's Lease; "" when the Lease cannot be read, which alters no decision."""
    name = min(scheduler_names) if len(scheduler_names) == 1 else names.DEFAULT_SCHEDULER_NAME
    try:
        lease = await client.read(ApiPath(_LEASES, "leases", namespace).of(name), _Lease)
    except (ForbiddenError, NotFoundError):
        return ""
    return str(lease.spec.get("holderIdentity", ""))


async def _server_version(client: KubernetesClient) -> dict[str, str]:
    """Of the API server; empty when it does not say, which alters no decision."""
    try:
        found = await client.read(SERVER_VERSION, _Version)
    except ApiError:
        return {}
    return {"kubernetes": found.git_version} if found.git_version else {}


def _classes_of(items: Iterable[Stored]) -> list[Stored]:
    """Priority classes as pods of them show their values; those that only PodGroups name count as 0."""
    values = {
        obj.spec.priority_class_name: 0
        for _, obj in items
        if isinstance(obj, PodGroup) and obj.spec.priority_class_name
    } | {
        obj.spec.priority_class_name: obj.spec.priority or 0
        for _, obj in items
        if isinstance(obj, Pod) and obj.spec.priority_class_name
    }
    metadata = (ObjectMeta(name=name, uid=f"priorityclass-{name}") for name in sorted(values))
    return [(PRIORITY_CLASS.name, PriorityClass(metadata=each, value=values[each.name])) for each in metadata]
