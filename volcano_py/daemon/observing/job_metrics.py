"""Latencies of whole jobs, from what cycles report and what is bound."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.effects import Bind
from volcano_py.api.names import GENERATED_GROUP_PREFIX
from volcano_py.api.objects import ApiObject, PodGroup, metadata_of
from volcano_py.api.report import CycleReport
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.observe.metrics import Metrics


class JobMetrics:
    """Gets reports and bindings; a `Sink` for PodGroups, so that deleted ones are forgotten."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        # By namespace/name. A cycle may have begun before a deletion; the job that it reports would never be forgotten.
        self._known: set[str] = set()

    def reported(self, report: CycleReport) -> None:
        """A cycle has ended."""
        self._metrics.observe_cycle(report)
        for job in report.pending if self._metrics.shows_jobs else ():
            if job.name not in self._known:
                continue
            namespace, _, name = job.name.partition("/")
            self._metrics.job_started(namespace, name, job.queue)
            if report.actions:
                self._metrics.job_retried(namespace, name)

    def placed(self, binds: Sequence[Bind]) -> None:
        """These pods were handed to the binder. No gang is bound in part by a decision, so their jobs are whole."""
        for key, bind in {bind.job: bind for bind in binds}.items():
            namespace, _, name = key.partition("/")
            # The PodGroup that is made for a pod may follow its binding.
            if key in self._known or name.startswith(GENERATED_GROUP_PREFIX):
                self._metrics.job_placed(namespace, name, bind.queue, created=bind.job_created)

    # -- Sink ------------------------------------------------------------------------------------------------------

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        if kind != kinds.POD_GROUP.name:
            return
        listed = {metadata_of(obj).key for obj in objects}
        for key in self._known - listed:
            self._gone(key)
        self._known = listed

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        if isinstance(obj, PodGroup):
            self._known.add(obj.metadata.key)

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        if isinstance(obj, PodGroup):
            self._known.discard(obj.metadata.key)
            self._gone(obj.metadata.key)

    def _gone(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        self._metrics.job_gone(namespace, name)
