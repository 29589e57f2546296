"""Objects without what decisions do not need: no environment, no commands, no Secrets' names, no foreign annotations.

Most fields are gone when objects are decoded, because the structs of `api.objects` do not have them. This takes care of
what the structs keep as it is: annotations, pod templates, and claims inside of pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from volcano_py.api.devices.claims import EXTENDED_CLAIM
from volcano_py.api.names import GROUP_NAME, OLD_SLA_WAITING_TIME, VGPU_NO_USE_TYPE, VGPU_USE_TYPE
from volcano_py.api.objects import ApiObject, ObjectMeta, Pod, PodSpec, Volume, metadata_of
from volcano_py.api.volumes import PersistentVolumeClaimSpec
from volcano_py.jobs.model import JobSpec, Task, VolcanoJob, VolumeSpec

_M = TypeVar("_M", bound=ObjectMeta)

_VOLCANO: Final = "volcano.sh"
# Keys that are not Volcano's by their prefix.
_WITHOUT_PREFIX: Final = frozenset({GROUP_NAME, OLD_SLA_WAITING_TIME, VGPU_USE_TYPE, VGPU_NO_USE_TYPE, EXTENDED_CLAIM})
_OF_VOLUMES: Final = frozenset(
    {"pv.kubernetes.io", "volume.kubernetes.io", "volume.beta.kubernetes.io", "storageclass.kubernetes.io"}
)
_OF_CLAIM: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")


def stripped(obj: ApiObject) -> ApiObject:
    """The object with what decisions follow from, and no more."""
    if isinstance(obj, Pod):
        metadata, spec = _metadata(obj.metadata), _pod_spec(obj.spec)
        is_whole = metadata is obj.metadata and spec is obj.spec
        return obj if is_whole else replace(obj, metadata=metadata, spec=spec)
    obj = replace(obj, metadata=_metadata(metadata_of(obj)))
    if isinstance(obj, VolcanoJob):
        return replace(obj, spec=_job_spec(obj.spec))
    return obj


@lru_cache(maxsize=4096)
def is_decisive(annotation: str) -> bool:
    """Whether an annotation of this key may alter a decision."""
    prefix = annotation.partition("/")[0]
    return (
        annotation in _WITHOUT_PREFIX or prefix == _VOLCANO or prefix.endswith(f".{_VOLCANO}") or prefix in _OF_VOLUMES
    )


def _metadata(metadata: _M) -> _M:
    if all(map(is_decisive, metadata.annotations)):
        return metadata
    return replace(metadata, annotations=_decisive(metadata.annotations))


def _decisive(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if is_decisive(key)}


def _pod_spec(spec: PodSpec) -> PodSpec:
    if not spec.volumes and not spec.resource_claims:
        return spec
    return replace(
        spec,
        volumes=[_volume(volume) for volume in spec.volumes if volume != Volume(name=volume.name)],
        resource_claims=[{key: each[key] for key in _OF_CLAIM if key in each} for each in spec.resource_claims],
    )


def _volume(volume: Volume) -> Volume:
    if volume.ephemeral is None:
        return volume
    template = volume.ephemeral.get("volumeClaimTemplate")
    spec = template.get("spec") if isinstance(template, dict) else None
    return replace(volume, ephemeral={"volumeClaimTemplate": {"spec": _as(PersistentVolumeClaimSpec, spec)}})


def _job_spec(spec: JobSpec) -> JobSpec:
    return replace(
        spec,
        tasks=[replace(task, template=_template(task)) for task in spec.tasks],
        volumes=[_job_volume(volume) for volume in spec.volumes],
    )


def _job_volume(volume: VolumeSpec) -> VolumeSpec:
    if volume.volume_claim is None:
        return volume
    return replace(volume, volume_claim=_as(PersistentVolumeClaimSpec, volume.volume_claim))


def _template(task: Task) -> dict[str, Any]:
    """What is no valid template stays invalid without its contents: the Job's pods are not created either way."""
    metadata, spec = task.template.get("metadata"), task.template.get("spec")
    try:
        meta = msgspec.convert(metadata or {}, ObjectMeta, strict=False)
        pod = msgspec.convert(spec or {}, PodSpec, strict=False)
    except msgspec.ValidationError:
        return {"metadata": {}, "spec": {"containers": "invalid"}}
    kept = ObjectMeta(labels=meta.labels, annotations=_decisive(meta.annotations))
    return {"metadata": msgspec.to_builtins(kept), "spec": msgspec.to_builtins(_pod_spec(pod))}


def _as(kind: type[ApiObject], value: Any) -> Any:
    """The fields of a JSON object that the struct has, as JSON; {} for what is no such object."""
    try:
        return msgspec.to_builtins(msgspec.convert(value or {}, kind, strict=False))
    except msgspec.ValidationError:
        return {}
