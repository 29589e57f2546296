"""What workload controllers of Kubernetes do when a pod is gone."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.objects import Pod, PodStatus
from volcano_py.cluster.memory import MemoryCluster

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


def replace_evicted(cluster: MemoryCluster) -> None:
    """Create the pods again that the scheduler has evicted and that are gone."""
    for key in {effect.pod.key for effect in cluster.evict_effects}:
        gone = cluster.evicted.get(key)
        again = created_again(gone) if gone is not None else None
        if again is not None:
            cluster.put("Pod", again)
