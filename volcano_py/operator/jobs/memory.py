"""What the job controller remembers about each job, apart from its object. All of it may be lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from volcano_py.jobs.model import JobStatus, VolcanoJob
from volcano_py.jobs.plan import Request
from volcano_py.jobs.plugins import JobPlugin
from volcano_py.jobs.plugins.plugin import PluginObject
from volcano_py.jobs.refusal import Refusal

# A plan for a job of this size takes about 5 ms.
_LARGE_SPEC: Final = 32 * 1024  # bytes
_LARGE_GANG: Final = 200  # pods


class JobMemory(msgspec.Struct):
    """Of one job: to save requests, and what is asked of it."""

    uid: str
    request: Request | None = None
    is_checked: bool = False
    """Whether the job as it is known was the newest at a time since this replica leads."""
    prepared: tuple[int, int, int] = (-1, -1, -1)
    """The generation, version and try of the job for which plugins' objects and claims were known to exist."""
    taken: tuple[PluginObject, ...] = ()
    """Secrets whose names were taken, perhaps by a namesake's."""
    make_again_at: float = 0.0
    counts: JobStatus | None = None
    """The status with counts that are not written yet."""
    written: float = float("-inf")
    waiting: str = ""
    refused: Refusal | None = None
    """The API server's answer to the last attempt, or what was missing for it, until something is created."""
    plugins: tuple[int, Sequence[JobPlugin], str] = msgspec.field(default=(-1, (), ""))
    size: tuple[int, int] = (-1, 0)
    """The generation, and bytes of its spec."""

    def is_large(self, job: VolcanoJob, pods: int) -> bool:
        """Whether a plan for the job, with this number of pods, may take more than some milliseconds."""
        if self.size[0] != job.metadata.generation:
            self.size = job.metadata.generation, len(msgspec.json.encode(job.spec))
        return self.size[1] > _LARGE_SPEC or max(pods, job.replicas) > _LARGE_GANG


class JobMemories:
    """Of all jobs, by namespace/name; a namesake begins with nothing."""

    def __init__(self) -> None:
        self._memories: dict[str, JobMemory] = {}

    def of(self, job: VolcanoJob) -> JobMemory:
        """That of this job."""
        memory = self._memories.get(job.metadata.key)
        if memory is None or memory.uid != job.metadata.uid:
            memory = self._memories[job.metadata.key] = JobMemory(job.metadata.uid)
        return memory

    def forget(self, key: str) -> None:
        """There is no job of that name any more."""
        self._memories.pop(key, None)


def attempt_of(job: VolcanoJob) -> tuple[int, int, int]:
    """Identifies an attempt: an edit, or pods that are created again, make the job's objects be checked again."""
    return job.metadata.generation, job.status.version, job.status.retry_count
