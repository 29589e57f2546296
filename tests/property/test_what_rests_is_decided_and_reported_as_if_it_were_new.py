"""A scheduler that keeps jobs at rest between cycles does and says what one does that looks at all of them again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.answering_cluster import AnsweringCluster
from tests.property.histories import History
from tests.property.test_at_rest_another_cycle_changes_nothing import CONFIGURATIONS
from tests.unit.daemon.cycling import REGISTRY
from tests.unit.state.watched import with_meta, with_spec, with_status
from volcano_py.api.effects import Effect
from volcano_py.api.objects import (
    LabelSelector,
    Node,
    Pod,
    PodGroup,
    SchedulingGate,
    Toleration,
    TopologySpreadConstraint,
)
from volcano_py.api.report import CycleReport
from volcano_py.config import SchedulerConfiguration, parse_configuration
from volcano_py.framework.status.resting import Resting
from volcano_py.scheduler import Scheduler
from volcano_py.state.snapshot import Snapshot

# Each example is a whole history, the same in every run; the profile `deep` makes many of them.
FEW = settings(max_examples=max(3, settings().max_examples // 10), derandomize=True)
MORE_CONFIGURATIONS: Final = {
    **CONFIGURATIONS,
    "revocable nodes, groups of nodes, loads": """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: usage}]
- plugins:
  - {name: tdm, arguments: {tdm.revocable-zone.rz1: "0:00-23:00"}}
  - {name: predicates}
  - {name: nodegroup}
  - {name: resource-strategy-fit}
""",
}
_COMPARED: Final = (
    "pending",
    "binds",
    "evictions",
    "pipelined",
    "pipelined_tasks",
    "queues",
    "unschedulable_tasks",
    "look_again_at",
    "recheck_at",
    "plugin_errors",
)


class ForWhichNodesAreMissing(History):
    """Half of the work wants nodes that mostly do not exist, and is edited while it waits."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [*[self.a_pod_is_edited] * 6, *[self.a_node_gets_a_label] * 2]
        self._steps += [self.a_group_is_edited, self.a_pod_joins]

    def _wishes(self) -> dict[str, Any]:
        wishes, rng = super()._wishes(), self._rng
        match rng.randint(0, 8):
            case 0 | 1:
                wishes["node_selector"] = {"disk": rng.choice(["ssd", "hdd"])}
            case 2:
                wishes["memory"] = rng.choice(["65Gi", "1000Gi"])
            case 3:
                wishes["node_selector"] = {"disk": "ssd"}
                wishes["tolerations"] = [Toleration(key="", operator="Equal", value="x")]
            case 4:
                label = rng.choice(["disk", "rack"])
                selector = LabelSelector(match_labels=wishes["labels"])
                wishes["spread"] = [TopologySpreadConstraint(max_skew=1, topology_key=label, label_selector=selector)]
            case _:
                pass
        return wishes

    def a_pod_is_edited(self) -> str | None:
        one = self._waiting_pod()
        if one is None:
            return None
        rng, meta = self._rng, one.metadata
        change = rng.choice(
            [
                with_meta(one, annotations={**meta.annotations, "edit": str(rng.random())}),
                with_meta(one, labels={**meta.labels, "edit": str(rng.random())}),
                with_spec(one, node_selector=rng.choice([{}, {"disk": rng.choice(["ssd", "hdd"])}])),
                with_spec(one, scheduling_gates=rng.choice([[], [SchedulingGate(name="wait")]])),
                with_status(one, conditions=[]),
            ]
        )
        self._cluster.put(change)
        return f"{meta.key} {change.metadata.labels} {change.spec.node_selector} {change.spec.scheduling_gates}"

    def a_group_is_edited(self) -> str | None:
        one = self._any(PodGroup)
        if one is None:
            return None
        change = self._rng.choice([with_meta(one, labels={"edit": "x"}), with_status(one, conditions=[])])
        self._cluster.put(change)
        return f"{one.metadata.key} {change.metadata.labels} {change.status.conditions}"

    def a_pod_joins(self) -> str | None:
        """Another one like a pod that waits."""
        one = self._waiting_pod()
        if one is None:
            return None
        self._serial += 1
        self._cluster.new(with_meta(one, name=f"more-{self._serial}"))
        return f"{one.metadata.key} more-{self._serial}"

    def _waiting_pod(self) -> Pod | None:
        waiting = [pod for pod in self._cluster.all(Pod) if not pod.spec.node_name]
        return self._rng.choice(waiting) if waiting else None

    def a_node_gets_a_label(self) -> str | None:
        one = self._any(Node)
        if one is None:
            return None
        labels = {**one.metadata.labels, "disk": self._rng.choice(["ssd", "hdd", "none"])}
        self._cluster.put(with_meta(one, labels=labels))
        return f"{one.metadata.name} {labels}"


class _Forgetful(Scheduler):
    """Keeps nothing of jobs and classes between cycles."""

    def run_cycle(
        self, snapshot: Snapshot, configuration: SchedulerConfiguration, *, decide: bool = True
    ) -> CycleReport:
        self._resting = Resting()
        self._node_index = None
        return super().run_cycle(snapshot, configuration, decide=decide)


class _SideBySide:
    """In the place of a loop's scheduler: another one gets the same snapshots and keeps nothing."""

    def __init__(self, cluster: AnsweringCluster) -> None:
        self._real: Scheduler = cluster.loop._scheduler
        self._emit = self._real._emit
        self._real._emit = self._passed_on
        self._passed: list[Effect] = []
        self._said: list[Effect] = []
        self._forgetful = _Forgetful(REGISTRY, self._said.extend)
        self.rested = 0
        self.differences: list[str] = []

    def run_cycle(
        self, snapshot: Snapshot, configuration: SchedulerConfiguration, *, decide: bool = True
    ) -> CycleReport:
        self._passed.clear()
        self._said.clear()
        report = self._real.run_cycle(snapshot, configuration, decide=decide)
        expected = self._forgetful.run_cycle(snapshot, configuration, decide=decide)
        self.rested += len(self._real._resting._recalled)
        self._compare("effects", self._passed, self._said)
        for field in _COMPARED:
            self._compare(field, getattr(report, field), getattr(expected, field))
        return report

    def _passed_on(self, effects: Sequence[Effect]) -> None:
        self._passed.extend(effects)
        self._emit(effects)

    def _compare(self, what: str, found: Any, expected: Any) -> None:
        if found != expected:
            self.differences.append(f"{what}: {found}\nexpected: {expected}")


async def live(rng: Random, configuration: SchedulerConfiguration) -> _SideBySide:
    cluster = AnsweringCluster(rng, configuration)
    both: Any = _SideBySide(cluster)
    cluster.loop._scheduler = both
    history = ForWhichNodesAreMissing(rng, cluster)
    running = asyncio.create_task(cluster.loop.run())
    history.begin()
    for _ in range(rng.randint(1, 4)):
        for _ in range(rng.randint(1, 10)):
            await history.go_on()
            await cluster.a_moment()
            reported = "\n".join(history.reported)
            assert not both.differences, f"{both.differences[0]}\nafter\n{reported}"
        await cluster.come_to_rest()
    cluster.loop.stop()
    await cluster.clock.advance(2)
    await running
    assert not both.differences, both.differences[0]
    found: _SideBySide = both
    return found


def configured(name: str) -> SchedulerConfiguration:
    configuration = parse_configuration(MORE_CONFIGURATIONS[name], REGISTRY.catalogue()).config
    assert configuration is not None
    return configuration


@pytest.mark.parametrize("name", MORE_CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_rests_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(name)))


@pytest.mark.parametrize("name", MORE_CONFIGURATIONS)
def test_there_are_jobs_that_rest_in_such_histories(name: str) -> None:
    assert sum(asyncio.run(live(Random(seed), configured(name))).rested for seed in range(3)) > 0
