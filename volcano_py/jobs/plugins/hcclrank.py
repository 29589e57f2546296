"""`hcclrank`: the rank of each pod in Huawei's collective communication library, as an annotation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.plugin import JobPlugin
from volcano_py.jobs.plugins.pod_editing import env_value

RANK_ANNOTATION: Final = "hccl/rankIndex"


class HcclRankPlugin(JobPlugin):
    """Arguments: `--master` (master) and `--worker` (worker), names of tasks.

    A rank that the pod has already, by the annotation or by the variable RANK, stays.
    """

    name = "hcclrank"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        given = Arguments(self.name, arguments, known=("master", "worker"), warnings=self.warnings)
        self._master, self._worker = given.text("master", "master"), given.text("worker", "worker")

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        metadata = pod["metadata"]
        annotations = metadata.get("annotations") or {}
        if annotations.get(RANK_ANNOTATION):
            return
        rank = env_value(pod, "RANK") or self._rank(job, task, index)
        if rank:
            metadata["annotations"] = {**annotations, RANK_ANNOTATION: rank}

    def _rank(self, job: VolcanoJob, task: Task, index: int) -> str:
        if task.name == self._master:
            return str(index)
        if task.name != self._worker:
            return ""
        masters = job.task(self._master)
        return str((masters.replicas if masters is not None else 0) + index)
