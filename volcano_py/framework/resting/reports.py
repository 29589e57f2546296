"""What a cycle has reported of a job that waits, and how the job and its pods look once that is written.

Statuses that were handed to the writer count as written (`ClusterState.assume_status`), so a job may rest before the
API server has them. If one is not written after all, the state shows the old one again, and the job is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from volcano_py.api.effects import Effect, PodCondition, PodGroupStatusUpdate
from volcano_py.api.report import PendingJob
from volcano_py.state.infos import JobInfo, TaskInfo


class Report(msgspec.Struct, frozen=True, eq=False):
    """`job` says why it waits; `written` is what the cycle writes of it and of its pods."""

    job: PendingJob
    written: Sequence[Effect] = ()

    @property
    def is_final(self) -> bool:
        """Whether a cycle to which nothing is new would write nothing of the job."""
        return not any(map(_is_passing, self.written))

    def group(self, info: JobInfo) -> JobInfo:
        """The PodGroup once it is written."""
        for effect in self.written:
            if isinstance(effect, PodGroupStatusUpdate):
                counts = (effect.running, effect.succeeded, effect.failed)
                info = replace(
                    info, phase=effect.phase, conditions=effect.conditions, counts=counts, is_provisional=False
                )
        return info

    def pods(self) -> dict[str, tuple[str, str]]:
        """UID → reason and message, of those pods of which something is written."""
        conditions = (effect for effect in self.written if isinstance(effect, PodCondition))
        return {effect.pod.uid: (effect.reason, effect.message) for effect in conditions}


def _is_passing(effect: Effect) -> bool:
    match effect:
        case PodGroupStatusUpdate():
            return effect.provisional
        case PodCondition():
            return bool(effect.nominated_node)
        case _:
            return False


def is_same_group(now: JobInfo | None, known: JobInfo) -> bool:
    """Whether it is the same but for the times of conditions, which the API server rounds."""
    if now is None or now is known or now == known:
        return now is not None
    same = [each.said for each in now.conditions] == [each.said for each in known.conditions]
    return same and replace(now, conditions=known.conditions) == known


def is_same_pod(now: TaskInfo | None, known: TaskInfo) -> bool:
    """Whether it is the same but for how far its status is written."""
    if now is known:
        return True
    if now is None or now.reported != known.reported:
        return False
    return replace(now, condition=known.condition, on_its_way=known.on_its_way) == known
