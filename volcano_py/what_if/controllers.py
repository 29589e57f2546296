"""What controllers do when a pod is gone, and when pods that were refused may be accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.objects import ApiObject, ObjectMeta, Pod, PodStatus, metadata_of
from volcano_py.cluster.manifests import VOLCANO_JOB, Stored
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.refusal import accepted

_REPLACING: Final = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController", "Job"})
"""Kinds whose controllers create another pod elsewhere. Volcano Jobs are looked after by the simulation itself."""


def created_again(pod: Pod) -> Pod | None:
    """The pod that a controller creates in the place of one that is gone; None where there is none.

    It has the same name, so that it is known as the same pod.
    """
    owner = pod.metadata.controller
    if owner is None or owner.is_volcano_job or owner.kind not in _REPLACING:
        return None
    if pod.status.phase not in ("Pending", "Running"):
        return None
    annotations = {key: value for key, value in pod.metadata.annotations.items() if key != CHARGED_QUEUE}
    metadata = replace(pod.metadata, uid=f"{pod.metadata.uid}-again", deletion_timestamp=None, annotations=annotations)
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=""), status=PodStatus())


def tried_again(items: Sequence[Stored], before: Sequence[Stored]) -> list[Stored]:
    """The objects, without the refusals of Volcano Jobs whose pods may be accepted now: the Job has changed since
    `before`, or a PriorityClass, or a ResourceQuota of its namespace. A pod that is accepted then counts as created,
    whatever the cause of the refusal was."""
    same = {id(obj) for _, obj in items} & {id(obj) for _, obj in before}
    changed = [(kind, metadata_of(obj)) for kind, obj in (*items, *before) if id(obj) not in same]

    def again(kind: str, obj: ApiObject) -> Stored:
        if isinstance(obj, VolcanoJob) and any(_may_help(*each, obj) for each in changed):
            obj = accepted(obj)
        return kind, obj

    return [again(kind, obj) for kind, obj in items]


def _may_help(kind: str, changed: ObjectMeta, job: VolcanoJob) -> bool:
    if kind == "ResourceQuota":
        return changed.namespace == job.metadata.namespace
    return kind == "PriorityClass" or (kind == VOLCANO_JOB and changed.key == job.metadata.key)


def replace_evicted(cluster: MemoryCluster) -> None:
    """Create the pods again that the scheduler has evicted and that are gone."""
    for key in {effect.pod.key for effect in cluster.evict_effects}:
        gone = cluster.evicted.get(key)
        again = created_again(gone) if gone is not None else None
        if again is not None:
            cluster.put("Pod", again)
