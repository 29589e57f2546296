"""Whole cycles over a state that nothing is written back to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.support.sessions import NOW, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.backfill import Backfill
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.effects import Bind, Effect
from volcano_py.api.objects import ApiObject
from volcano_py.api.report import CycleReport
from volcano_py.api.shards.sharding import Sharding
from volcano_py.config.parse import parse_configuration
from volcano_py.framework.action import Action
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.plugins.gang import Gang
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.snapshot import Snapshot


class Cycles:
    """A scheduler, and the effects of its cycles."""

    def __init__(
        self,
        *objects: ApiObject | Iterable[ApiObject],
        actions: Sequence[type[Action]] = (Enqueue, Allocate, Backfill),
        plugins: Sequence[type[Plugin]] = (Gang,),
        seed: int | None = None,
        sharding: Sharding | None = None,
    ) -> None:
        self.state = ClusterState(sharding=sharding)
        for each in (queue("default"), *objects):
            for obj in [each] if isinstance(each, ApiObject) else each:
                self.state.upsert(type(obj).__name__, obj)
        registry = Registry.of(plugins, actions)
        names = ", ".join(action.name for action in actions)
        listed = "".join(f"\n  - name: {plugin.name}" for plugin in plugins)
        parsed = parse_configuration(f'actions: "{names}"\ntiers:\n- plugins:{listed}\n', registry.catalogue())
        assert parsed.config is not None, parsed.problems
        self.configuration = parsed.config
        self.effects: list[Effect] = []
        self.scheduler = Scheduler(registry, self.effects.extend, seed=seed)
        self._used: Snapshot | None = None

    def run(self, *, decide: bool = True, after: float = 0.0) -> CycleReport:
        self._used = self.state.snapshot(NOW.timestamp() + after, self._used)
        return self.scheduler.run_cycle(self._used, self.configuration, decide=decide)

    @property
    def binds(self) -> dict[str, str]:
        return {effect.pod.name: effect.node for effect in self.effects if isinstance(effect, Bind)}
