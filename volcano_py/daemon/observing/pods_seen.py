"""How long after its creation a pod is seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from volcano_py.api.objects import ApiObject, Pod
from volcano_py.observe.metrics import Metrics, TaskStage
from volcano_py.state.cluster_state import ClusterState


class PodsSeen:
    """A `Sink` that must come before the state, which says whether a pod is new. `clock` returns seconds
    since the epoch."""

    def __init__(self, state: ClusterState, metrics: Metrics, clock: Callable[[], float] = time.time) -> None:
        self._state = state
        self._metrics = metrics
        self._clock = clock

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """Pods in a first list existed before the watch, for days perhaps: they were not late."""

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        if not isinstance(obj, Pod) or obj.spec.node_name or obj.spec.scheduler_name not in self._state.scheduler_names:
            return
        if (created := obj.metadata.created) and not self._state.has_pod(obj.metadata.uid):
            self._metrics.latencies.task_reached(TaskStage.WATCHED, self._clock() - created)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """These pods have been counted."""
