"""Whatever the cluster: single pods that take their turns in series get the same places, in the same order and with the
same statuses and reports, as if each turn were recorded before the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.clusters import a_group, a_node, a_pod, meta
from volcano_py.actions import BUILTIN_ACTIONS
from volcano_py.api.effects import Bind, Effect
from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import (
    ContainerPort,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodGroup,
    Queue,
    QueueGuarantee,
    QueueSpec,
    QueueStatus,
    ResourceList,
    TopologySpreadConstraint,
)
from volcano_py.cluster.manifests import EPOCH, Stored
from volcano_py.config import SchedulerConfiguration, parse_configuration
from volcano_py.framework.job import Placement
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.plugins import BUILTIN_PLUGINS
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState

CYCLES: Final = 3
HOST: Final = "host"
SPREADS: Final = ("DoNotSchedule", "ScheduleAnyway")
NAMESPACES: Final = ("team", "lab")
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


REGISTRY: Final = Registry.of((*BUILTIN_PLUGINS, OneByOne), BUILTIN_ACTIONS)


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

    made = [queue(name, "") for name in ("a", "b")]
    for name in LEAVES:
        parent = PARENTS[name]
        path = f"root/{parent}/{name}" if parent else f"root/{name}"
        weights = "/".join(str(draw(st.integers(1, 2))) for _ in path.split("/"))
        made.append(queue(name, parent, **{HIERARCHY: path, HIERARCHY_WEIGHTS: weights}))
    return made


def changed(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **fields))


@st.composite
def jobs(draw: st.DrawFn, name: str, common: str | None) -> list[PodGroup | Pod]:
    """Mostly of a single pod; some are gangs. They ask for something `common`, and their pods are then of one class; or
    for anything (None)."""
    alike = common is not None
    namespace = NAMESPACES[0] if alike else draw(st.sampled_from(NAMESPACES))
    pods = draw(st.sampled_from([1, 1, 1, 1, 1, 1, 1, 2, 3]))
    minimum = draw(st.sampled_from([0, 1, 1, pods]))
    cpu = 1 if alike else draw(st.sampled_from([1, 1, 1, 1, 2, 0, 9]))
    zone = "" if alike else draw(st.sampled_from(["", "", "", "a"]))
    age, priority = draw(st.integers(0, 2)), draw(st.sampled_from([0, 0, 0, 1]))
    special = draw(st.sampled_from(["", "", "", "", "", "port", *SPREADS])) if common is None else common
    made: list[PodGroup | Pod] = [a_group(name, minimum, draw(st.sampled_from(LEAVES)), age=age)]
    for index in range(pods):
        pod = a_pod(f"{name}-{index}", name, cpu, age=age, zone=zone, priority=priority)
        if special == "port":
            (container,) = pod.spec.containers
            with_port = msgspec.structs.replace(container, ports=[ContainerPort(container_port=80, host_port=80)])
            pod = changed(pod, containers=[with_port])
        elif special in SPREADS:
            constraint = TopologySpreadConstraint(
                max_skew=1,
                topology_key=HOST,
                when_unsatisfiable=special,
                label_selector=LabelSelector(match_labels={"app": "web"}),
            )
            pod = changed(pod, topology_spread_constraints=[constraint])
            pod = msgspec.structs.replace(pod, metadata=with_fields(pod.metadata, labels={"app": "web"}))
        made.append(pod)
    return [msgspec.structs.replace(each, metadata=with_fields(each.metadata, namespace=namespace)) for each in made]


def with_fields(metadata: ObjectMeta, **fields: Any) -> ObjectMeta:
    return msgspec.structs.replace(metadata, **fields)


@dataclass(frozen=True)
class Case:
    """What is there, and what comes after the first cycle."""

    objects: list[Any]
    later: list[Any]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    objects: list[Any] = []
    for index in range(draw(st.integers(1, 5))):
        name, size = f"n{index}", draw(st.integers(1, 12))
        node = a_node(name, size, draw(st.sampled_from([2, 20, 20])), zone=draw(st.sampled_from("ab")))
        labels = {**node.metadata.labels, HOST: name}
        objects.append(msgspec.structs.replace(node, metadata=with_fields(node.metadata, labels=labels)))
        if draw(st.booleans()):
            leaving = a_pod(f"r{index}", "", 1, on=name)
            fields = {"deletion_timestamp": EPOCH} if draw(st.booleans()) else {}
            objects.append(msgspec.structs.replace(leaving, metadata=with_fields(leaving.metadata, **fields)))
    objects.extend(draw(queues()))
    common = draw(st.sampled_from([None, None, "", "", *SPREADS]))
    made = [draw(jobs(f"j{index:02d}", common)) for index in range(draw(st.integers(1, 24)))]
    first = draw(st.integers(0, len(made)))
    flat = [[each for job in some for each in job] for some in (made[first:], made[:first])]
    return Case(objects + flat[0], flat[1])


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


@pytest.mark.parametrize("actions", ["enqueue, allocate, backfill", "enqueue, allocate, preempt, reclaim"])
@pytest.mark.parametrize("plugins", DIVIDED_BY.values(), ids=DIVIDED_BY.keys())
@given(case=cases())
def test_it(plugins: str, actions: str, case: Case) -> None:
    in_series = decided(case, configured(actions, plugins))
    assert in_series == decided(case, configured(actions, f"{plugins}, {{name: one-by-one}}"))
