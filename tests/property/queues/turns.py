"""Queues, alone or in a tree, and what a few cycles decide about jobs in them, with turns in series or one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from tests.property.clusters import meta
from tests.support.registries import ACTIONS, PLUGINS
from volcano_py.api.effects import Bind, Effect
from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import Queue, QueueGuarantee, QueueSpec, QueueStatus, ResourceList
from volcano_py.cluster.manifests import EPOCH, Stored
from volcano_py.config import SchedulerConfiguration, parse_configuration
from volcano_py.framework.job import Placement
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState

CYCLES: Final = 3
LEAVES: Final = ("a1", "a2", "b1", "b2", "c")
PARENTS: Final = {"a1": "a", "a2": "a", "b1": "b", "b2": "b", "c": ""}

CONFIGURATION: Final = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{name: predicates}}, {{name: nodeorder}}, {plugins}]
"""
DIVIDED_BY: Final = {
    "drf, in a tree": "{name: drf, enableHierarchy: true}",
    "drf, by namespaces": "{name: drf, enableNamespaceOrder: true}, {name: binpack}",
    "capacity": "{name: drf}, {name: capacity}",
    "capacity, in a tree": "{name: drf}, {name: capacity, enableHierarchy: true}",
    "proportion": "{name: drf}, {name: proportion}, {name: overcommit}",
    "proportion, in a tree": "{name: drf}, {name: proportion, enableHierarchy: true}",
}


class OneByOne(Plugin):
    """Hears of placements, and does not say that it allows series."""

    name = "one-by-one"

    def on_allocate(self, placement: Placement) -> None:
        pass


REGISTRY: Final = Registry.of((*PLUGINS, OneByOne), ACTIONS)


def configured(actions: str, plugins: str) -> SchedulerConfiguration:
    parsed = parse_configuration(CONFIGURATION.format(actions=actions, plugins=plugins), REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    return parsed.config


AMOUNTS: Final[st.SearchStrategy[ResourceList]] = st.sampled_from([{}, {}, {}, {"cpu": "2"}, {"cpu": "5"}])


@st.composite
def queues(draw: st.DrawFn) -> list[Queue]:
    """Leaves of a tree, by parents for capacity and proportion, by annotations for drf."""

    def queue(name: str, parent: str, **annotations: str) -> Queue:
        return Queue(
            metadata=meta(name, draw(st.integers(8, 9)), annotations=annotations),
            spec=QueueSpec(
                weight=draw(st.integers(1, 3)),
                capability=draw(AMOUNTS),
                deserved=draw(AMOUNTS),
                guarantee=QueueGuarantee(resource=draw(st.sampled_from([{}, {}, {"cpu": "1"}]))),
                priority=draw(st.sampled_from([0, 0, 0, 1])),
                parent=parent,
            ),
            status=QueueStatus(state=draw(st.sampled_from(["", "Open", "Open", "Open", "Open", "Closed"]))),
        )

    made = [queue(name, "") for name in ("a", "b", *draw(st.sampled_from([(), ("root",)])))]
    for name in LEAVES:
        parent = PARENTS[name]
        path = f"root/{parent}/{name}" if parent else f"root/{name}"
        weights = "/".join(str(draw(st.integers(1, 2))) for _ in path.split("/"))
        made.append(queue(name, parent, **{HIERARCHY: path, HIERARCHY_WEIGHTS: weights}))
    return made


@dataclass(frozen=True)
class Case:
    """What is there, and what comes after the first cycle."""

    objects: list[Any]
    later: list[Any]


def decided(case: Case, configuration: SchedulerConfiguration) -> list[Any]:
    """All that a few cycles decide, write and report, in order."""
    state = ClusterState()
    found: list[Any] = []
    effects: list[Effect] = []
    scheduler = Scheduler(REGISTRY, effects.extend, seed=1)
    now = EPOCH.timestamp() + 60
    for number in range(CYCLES):
        for kind, obj in stored(case.objects if number == 0 else case.later if number == 1 else []):
            state.upsert(kind, obj)
        effects.clear()
        report = scheduler.run_cycle(state.snapshot(now + number), configuration)
        assert not report.plugin_errors
        assert not report.action_errors
        found.extend(effects)
        found.append(
            {
                field: getattr(report, field)
                for field in ("binds", "pipelined_tasks", "queues", "namespaces", "pending", "look_again_at")
            }
        )
        state.assume_all_bound([effect for effect in effects if isinstance(effect, Bind)])
        assert state.drift() == 0
    return found


def stored(objects: list[Any]) -> list[Stored]:
    return [(type(obj).__name__, obj) for obj in objects]
