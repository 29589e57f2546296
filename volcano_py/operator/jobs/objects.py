"""Objects of a Job other than its pods: those of its plugins, and the claims of its volumes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError
from volcano_py.jobs.actions import Prepare
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.names import PLUGIN_ERROR, PVC_ERROR
from volcano_py.jobs.plugins.plugin import PluginObject
from volcano_py.jobs.refusal import claim_missing
from volcano_py.operator.kube_api import KubeApi, object_path

_RACES: Final = 3  # how often an object may come or go between two requests before the job waits for its next turn
_OUTSIDE: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_CLAIM: Final = ("v1", "PersistentVolumeClaim")
_SECRET: Final = ("v1", "Secret")


class NotReadyError(Exception):
    """Something that a job needs is missing, or belongs to another owner; `reason` is that of the event. `passes`: it
    is a matter of time."""

    def __init__(self, reason: str, message: str, *, passes: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.passes = passes


class _Existing(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


async def prepare(api: KubeApi, job: VolcanoJob, wanted: Prepare) -> tuple[PluginObject, ...]:
    """Create what is missing, and update what follows the job. Returns the Secrets whose names were taken: by this
    job's own, created before a restart, or by those of a deleted namesake, not collected yet.

    Raises:
        NotReadyError: a claim is missing, or an object of another owner has the name.
        RequestError: the API server refused.
    """
    taken = []
    for kept in wanted.objects:
        if (kept.api_version, kept.kind) != _SECRET:
            await _keep(api, job, kept)
        elif not await _make_secret(api, job, kept):
            taken.append(kept)
    for claim in wanted.claims:
        made = PluginObject(*_CLAIM, name=claim["metadata"]["name"], make=lambda claim=claim: claim)  # type: ignore[misc]
        await _keep(api, job, made, PVC_ERROR)
    for name in wanted.awaited_claims:
        try:
            await api.get(object_path(*_CLAIM, job.metadata.namespace, name))
        except NotFoundError as error:
            missing = claim_missing(job.metadata.namespace, name)
            raise NotReadyError(missing.reason, missing.message) from error
    return tuple(taken)


async def _keep(api: KubeApi, job: VolcanoJob, kept: PluginObject, reason: str = PLUGIN_ERROR) -> None:
    namespace = job.metadata.namespace
    path = object_path(kept.api_version, kept.kind, namespace, kept.name)
    for _ in range(_RACES):
        try:
            existing = msgspec.json.decode(await api.get(path))
        except NotFoundError:
            try:
                await api.post(object_path(kept.api_version, kept.kind, namespace), _owned(job, _made(job, kept)))
            except ConflictError:
                continue  # it was created meanwhile
            return
        owner = msgspec.convert(existing, _Existing, strict=False).metadata
        if not job.owns(owner):
            what = f"{kept.kind} {namespace}/{kept.name}"
            message = f"{what} exists but does not belong to this job; delete it, or give the job another name"
            raise NotReadyError(reason, message)
        changes = _changes(existing, _made(job, kept)) if kept.follows_job else {}
        if not changes:
            return
        try:
            await api.patch(path, {"metadata": {"uid": owner.uid}, **changes})
        except (NotFoundError, ConflictError):
            continue
        return
    message = f"{kept.kind} {namespace}/{kept.name} is created and deleted by another client; stop that client"
    raise NotReadyError(reason, message)


async def _make_secret(api: KubeApi, job: VolcanoJob, kept: PluginObject) -> bool:
    """Whether it was created; not if the name is taken. Secrets are never read: that right would be one on all Secrets
    of the cluster.

    Generating keys takes so long that it is done in a thread.
    """
    manifest = await asyncio.to_thread(lambda: _made(job, kept))
    try:
        await api.post(object_path(*_SECRET, job.metadata.namespace), _owned(job, manifest))
    except ConflictError:
        return False
    return True


def _made(job: VolcanoJob, kept: PluginObject) -> JsonObject:
    """Its manifest. It may come from a plugin outside this project, which may raise anything."""
    try:
        return kept.make()
    except Exception as error:
        what = f"{kept.kind} {job.metadata.namespace}/{kept.name}"
        raise NotReadyError(PLUGIN_ERROR, f"{what} cannot be created: {type(error).__name__}: {error}") from error


def _owned(job: VolcanoJob, manifest: JsonObject) -> JsonObject:
    metadata = {
        **manifest.get("metadata", {}),
        "namespace": job.metadata.namespace,
        "ownerReferences": [job.owner_reference],
    }
    return {**manifest, "metadata": metadata}


def _changes(existing: Mapping[str, Any], wanted: JsonObject) -> JsonObject:
    """Merge patch for the content; what the server has filled in stays, keys of `data` that went away go."""
    changes: JsonObject = {}
    for key, value in wanted.items():
        if key in _OUTSIDE:
            continue
        before = existing.get(key)
        gone: JsonObject = {}
        if key in ("data", "binaryData") and isinstance(before, dict):
            gone = dict.fromkeys(before)
        if (difference := _difference(before, gone | value if gone else value)) is not None:
            changes[key] = difference
    return changes


def _difference(before: Any, wanted: Any) -> Any:
    """What of `wanted` is not so; None when all is."""
    if isinstance(wanted, dict) and isinstance(before, dict):
        inner = {key: _difference(before.get(key), value) for key, value in wanted.items() if value is not None}
        gone = {key: None for key, value in wanted.items() if value is None and key in before}
        changed = {key: value for key, value in inner.items() if value is not None} | gone
        return changed or None
    return None if before == wanted else wanted
