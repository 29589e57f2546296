"""What only a cycle of the scheduler can say: why jobs wait, and what queues deserve.

In a large cluster it takes a while, so it is a value of its own, and boards are made of the newest one that there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from volcano_py.api.effects import Effect
from volcano_py.api.report import PendingJob
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.devices.stand_ins import StandIns
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import Scheduler
from volcano_py.standing import Standing, standings
from volcano_py.state.snapshot import Snapshot


class Judgement(msgspec.Struct, frozen=True, eq=False):
    """`pending`: PodGroup (namespace/name) → why it waits. `standings`: the queues in the order of their tree."""

    pending: Mapping[str, PendingJob]
    standings: tuple[Standing, ...]
    jobs: frozenset[str]
    """The PodGroups there were."""
    stand_ins: Mapping[str, StandIns] = {}
    """Devices that stand in for resources, by resource."""


class Judge:
    """The scheduler, whose decisions are not carried out."""

    def __init__(self, registry: Registry) -> None:
        self._scheduler = Scheduler(registry, _carry_out_nothing, report_queues_as_found=True)

    def judge(self, snapshot: Snapshot, configuration: SchedulerConfiguration) -> Judgement:
        """Takes as long as a cycle. Jobs are tried in it, but queues hold what they hold now."""
        report = self._scheduler.run_cycle(snapshot, configuration)
        return Judgement(
            pending={job.name: job for job in report.pending},
            standings=tuple(standings(report.queues_as_found, configuration)),
            jobs=frozenset(info.key for info in snapshot.jobs if info is not None),
            stand_ins=self._scheduler.stand_ins,
        )


def _carry_out_nothing(effects: Sequence[Effect]) -> Any:
    """Looking changes nothing."""
