"""A loop of cycles over real parts, on a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.support.registries import checked_registry
from tests.unit.cluster.fakes import PATIENCE, FakeClock, settle
from volcano_py.api.effects import Bind, Effect, PodGroupStatusUpdate, QueueAllocated
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.api.objects import ApiObject
from volcano_py.api.report import CycleReport
from volcano_py.config import SchedulerConfiguration
from volcano_py.config.defaults import default_configuration_text
from volcano_py.config.parse import parse_configuration
from volcano_py.daemon.cycles import CycleLoop, CycleTiming, Witness
from volcano_py.daemon.wakeup import Wakeup
from volcano_py.state.cluster_state import ClusterState

REGISTRY = checked_registry()


class Bench:
    """A loop over real parts; only the writer is a list and the clock stands still."""

    def __init__(
        self,
        state: ClusterState | None = None,
        witness: Witness | None = None,
        extender: ExtenderClient | None = None,
    ) -> None:
        self.clock = FakeClock(self._cycle_over)
        self.state = state or ClusterState()
        self.sent: list[Effect] = []
        self.bound: list[Bind] = []
        self.reports: list[CycleReport] = []
        self.configuration: SchedulerConfiguration | None = parse_configuration(
            default_configuration_text(), REGISTRY.catalogue()
        ).config
        self.active = self.current = True
        self.took = 0.0
        """Seconds that each cycle takes."""
        self.wakeup = Wakeup(self.clock)
        self.loop = CycleLoop(
            self.state,
            REGISTRY,
            self,
            self.wakeup,
            configuration=lambda: self.configuration,
            active=lambda: self.active,
            current=lambda: self.current,
            on_report=self._report,
            witness=witness,
            timing=CycleTiming(period=1.0),
            seed=1,
            extender=extender,
            clock=self.clock,
        )

    def apply(self, effects: Sequence[Effect]) -> None:
        """The writer. What queues have allocated is written until its echo comes, which never does here."""
        self.sent.extend(effect for effect in effects if not isinstance(effect, QueueAllocated))
        self.bound.extend(effect for effect in effects if isinstance(effect, Bind))

    def _report(self, report: CycleReport) -> None:
        self.reports.append(report)
        self.clock.time += self.took

    def put(self, *objects: ApiObject) -> None:
        for obj in objects:
            self.state.upsert(type(obj).__name__, obj)

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.clock.now().timestamp()

    async def after(self, seconds: float) -> int:
        """How many cycles have run when so much time has passed, and whatever was started has ended."""
        await self.clock.advance(seconds)
        return len(self.reports)

    async def _cycle_over(self) -> None:
        """No time passes while a cycle runs, however long its thread takes on this machine."""
        await settle()
        async with asyncio.timeout(PATIENCE):
            while self.loop.running_since is not None:  # noqa: ASYNC110 - a thread has no event
                await asyncio.sleep(0.001)
        await settle()

    @property
    def binds(self) -> dict[str, str]:
        return {effect.pod.name: effect.node for effect in self.sent if isinstance(effect, Bind)}

    def decided(self) -> list[bool]:
        """Whether each cycle decided."""
        return [bool(report.actions) for report in self.reports]


def phases(bench: Bench) -> list[str]:
    """The phases that were written of PodGroups."""
    return [effect.phase for effect in bench.sent if isinstance(effect, PodGroupStatusUpdate)]
