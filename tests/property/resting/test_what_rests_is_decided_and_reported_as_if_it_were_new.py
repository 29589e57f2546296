"""A scheduler that keeps jobs at rest between cycles does and says what one does that looks at all of them again.

What a cycle places may change why jobs wait for room; those that rest report it in the next cycle. So does what it
places or evicts change what may be evicted for them; that is found in the next cycle, which is due at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.explaining.answering_cluster import AnsweringCluster, group_of
from tests.property.histories import APPS, HOST, NAMESPACES, NODES, QUEUES, History
from tests.property.resting.test_at_rest_another_cycle_changes_nothing import CONFIGURATIONS, parsed
from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import gang, queue
from tests.unit.daemon.cycling import REGISTRY
from tests.unit.state.watched import with_meta, with_spec, with_status
from volcano_py.api.effects import Effect, Event, ObjectRef, PodCondition, PodGroupStatusUpdate
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodGroup,
    Queue,
    SchedulingGate,
    Toleration,
    TopologySpreadConstraint,
)
from volcano_py.api.report import CycleReport, PendingJob
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.resting.eviction_basis import EVICTING_NOTHING
from volcano_py.framework.resting.resting import Resting
from volcano_py.scheduler import Scheduler
from volcano_py.state.snapshot import Snapshot

# Each example is a whole history, the same in every run; the profile `deep` makes many of them.
FEW = settings(max_examples=max(3, settings().max_examples // 10), derandomize=True)
MORE_CONFIGURATIONS: Final = {
    **CONFIGURATIONS,
    "capacities without evictions": """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: drf, enableNamespaceOrder: true}, {name: predicates}, {name: capacity, enableHierarchy: true}]
""",
    "waiting times without evictions": """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: sla, arguments: {sla-waiting-time: 1m}}]
- plugins: [{name: predicates}, {name: proportion}, {name: resource-strategy-fit}, {name: binpack}]
""",
    "shares of jobs": """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority, enablePreemptable: false}, {name: gang, enablePreemptable: false}]
- plugins: [{name: drf}, {name: predicates}, {name: nodeorder}]
""",
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
NETWORK: Final = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false, enableReclaimable: false}]
- plugins: [{name: predicates}, {name: capacity}, {name: network-topology-aware}]
"""
ADMITTING: Final = ("overcommit and proportion", "waiting times", "a tree of capacities", "default")
WITHOUT_EVICTIONS: Final = ("default", "capacities without evictions", "waiting times without evictions")
WITH_EVICTIONS: Final = (
    "overcommit and proportion",
    "a tree of capacities",
    "shares of jobs",
    "cooldown and budgets",
    "hierarchical fair share",
)
"""Those of whose plugins it is known what evictions follow from."""
_COMPARED: Final = (
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


class InAFullCluster(ForWhichNodesAreMissing):
    """Crowds of equal jobs and single ones wait for what ends; nodes and queues stay mostly as they are."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps = [
            *[self.a_crowd_comes] * 2,
            *[self.work_comes] * 2,
            *[self.a_pod_ends] * 6,
            *[self.others_use_a_node] * 2,
            self.a_pod_is_deleted,
            self.a_pod_is_edited,
            self.a_pod_joins,
            self.a_group_changes,
            self.a_queue_changes,
            self.a_node_changes,
            self.time_passes,
        ]

    def begin(self) -> None:
        super().begin()
        for _ in range(2):
            self.reported.append(f"there is {self.a_crowd_comes()}")

    def a_crowd_comes(self) -> str:
        rng, first = self._rng, self._serial + 1
        pods, cpu, queue_name = rng.randint(1, 3), rng.choice(["1", "2", "3"]), rng.choice([*QUEUES, "default"])
        for _ in range(rng.randint(2, 6)):
            self._serial += 1
            namespace = rng.choice(NAMESPACES)
            for each in gang(f"c{self._serial}", pods=pods, cpu=cpu, namespace=namespace, queue=queue_name):
                self._cluster.new(each)
        return f"c{first} to c{self._serial}, {pods} pods of {cpu} cpu each, in {queue_name}"

    def _wishes(self) -> dict[str, Any]:
        return super()._wishes() if self._rng.random() < 0.2 else {}

    def _queue(self, name: str) -> Queue:
        capability = {"cpu": str(self._rng.randint(4, 20))} if self._rng.random() < 0.3 else None
        return queue(name, weight=self._rng.randint(1, 3), capability=capability)


class OfUnequalPods(InAFullCluster):
    """Many gangs have pods for one node among others."""

    def _equipped(self, one: Pod) -> Pod:
        if self._rng.random() < 0.6:
            return one
        unequal: Pod = with_spec(one, node_selector={HOST: self._rng.choice(NODES)})
        return unequal


class BeforeAdmission(InAFullCluster):
    """Most work asks for much before it is admitted; some never has pods, so that its promise lapses."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [*[self.a_promise_is_asked_for] * 8, *[self.time_passes] * 2, self.a_quota_comes_or_goes]

    def begin(self) -> None:
        super().begin()
        for _ in range(3):
            self.reported.append(f"there is {self.a_promise_is_asked_for()}")

    def a_promise_is_asked_for(self) -> str:
        self._serial += 1
        rng, name, namespace = self._rng, f"p{self._serial}", self._rng.choice(NAMESPACES)
        pods, cpu, when = rng.randint(1, 3), rng.randint(1, 12), rng.choice(["now", "once admitted", "never"])
        group, *members = gang(
            name,
            pods=pods,
            cpu=rng.choice(["1", "2"]),
            namespace=namespace,
            queue=rng.choice([*QUEUES, "default"]),
            min_resources={"cpu": str(cpu)},
            group_phase=rng.choice(["", "Pending"]),
            priority_class=rng.choice(["", "high"]),
        )
        self._cluster.new(group)
        if when == "now":
            for each in members:
                self._cluster.new(each)
        elif when == "once admitted":
            self._cluster.replaced[f"{namespace}/{name}"] = [each for each in members if isinstance(each, Pod)]
        return f"{name}, {cpu} cpu, {pods} pods {when}"


class InANetwork(InAFullCluster):
    """Racks come and go."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [self.a_rack_comes_or_goes] * 2

    def a_rack_comes_or_goes(self) -> str:
        known = self._cluster.find(HyperNode, "rack")
        if known is not None:
            self._cluster.remove(known)
            return "it goes"
        one = self._any(Node)
        self._cluster.new(hyper_node("rack", 1, nodes=[] if one is None else [one.metadata.name]))
        return "it comes"


class AmongOthers(InAFullCluster):
    """Most work wants to be with other pods, or apart from them. Some of those never come."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [*[self.work_comes] * 4, *[self.a_node_gets_a_label] * 2, self.a_pod_is_relabelled]

    def _wishes(self) -> dict[str, Any]:
        rng, wishes = self._rng, super()._wishes()
        wishes["labels"] = {**wishes.get("labels", {}), "app": rng.choice(APPS)}
        if rng.random() < 0.7:
            wishes.pop("host_ports", None)
            spread = TopologySpreadConstraint(
                max_skew=1,
                topology_key=rng.choice([HOST, "disk"]),
                label_selector=LabelSelector(match_labels={"app": rng.choice(APPS)}),
            )
            wishes["spread"] = [spread] if rng.random() < 0.4 else []
            wishes["affinity"] = Affinity(
                pod_affinity=self._others() if rng.random() < 0.6 else None,
                pod_anti_affinity=self._others() if rng.random() < 0.4 else None,
            )
        return wishes

    def _others(self) -> PodAffinity:
        rng = self._rng
        app, key = rng.choice([*APPS, "nobody"]), rng.choice([HOST, HOST, "disk"])
        term = PodAffinityTerm(
            topology_key=key,
            label_selector=LabelSelector(match_labels={"app": app}),
            namespaces=rng.choice([[], [], [*NAMESPACES]]),
        )
        return PodAffinity(required=[term])

    def a_pod_is_relabelled(self) -> str | None:
        one = self._any(Pod)
        if one is None:
            return None
        app = self._rng.choice([*APPS, "nobody"])
        self._cluster.put(with_meta(one, labels={**one.metadata.labels, "app": app}))
        return f"{one.metadata.key} app={app}"


class _Forgetful(Scheduler):
    """Keeps nothing of jobs and classes between cycles."""

    def run_cycle(
        self,
        snapshot: Snapshot,
        configuration: SchedulerConfiguration,
        *,
        decide: bool = True,
        until: Callable[[], bool] = lambda: False,
    ) -> CycleReport:
        self._resting = Resting()
        self._node_index = None
        return super().run_cycle(snapshot, configuration, decide=decide, until=until)


class _SideBySide:
    """In the place of a loop's scheduler: another one gets the same snapshots and keeps nothing."""

    registry = REGISTRY

    def __init__(self, cluster: AnsweringCluster) -> None:
        self._real: Scheduler = cluster.loop._scheduler
        self._emit = self._real._emit
        self._real._emit = self._passed_on
        self._passed: list[Effect] = []
        self._said: list[Effect] = []
        self._forgetful = _Forgetful(REGISTRY, self._said.extend)
        self._cluster = cluster
        self._late: set[str] = set()
        self._is_apart = False
        """The last deciding cycle has moved something, after which pods might be evicted for jobs that rested."""
        self.rested = self.rested_unadmitted = self.rested_for_room = self.rested_for_pods = self.rested_for_domains = 0
        self.differences: list[str] = []

    def run_cycle(
        self, snapshot: Snapshot, configuration: SchedulerConfiguration, *, decide: bool = True
    ) -> CycleReport:
        self._passed.clear()
        self._said.clear()
        report = self._real.run_cycle(snapshot, configuration, decide=decide)
        expected = self._forgetful.run_cycle(snapshot, configuration, decide=decide)
        resting, awake = self._real._resting._recalled, self._real._resting._awake
        self.rested += len(resting)
        self.rested_unadmitted += sum(not job.is_admitted for job in resting if job.row not in awake)
        late = {job.info.key for job in resting if job.lacks and job.row not in awake}
        self.rested_for_room += len(late)
        self.rested_for_pods += sum(any(lack.sight for lack in job.lacks) for job in resting if job.row not in awake)
        waiting = [job for job in resting if job.lacks and job.row not in awake]
        self.rested_for_domains += sum(job.info.topology is not None for job in waiting)
        if decide:  # otherwise what the last such cycle found is reported again
            moves = report.binds + report.pipelined + report.evictions > 0
            moves |= 0 < report.look_again_at - report.started < 0.1  # (places are kept)
            self._late = late if moves else set()
            self._is_apart = bool(self._late) and not EVICTING_NOTHING.issuperset(configuration.actions)
        if self._is_apart:
            has_news = self._real._resting._backlog.is_new or report.binds + report.evictions > 0
            self._compare("due at once", 0 < report.look_again_at - report.started < 0.1 or not has_news, True)
            return report
        late = self._late
        self._compare("effects", self._without(late, self._passed), self._without(late, self._said))
        self._compare("pending", _others(late, report), _others(late, expected))
        for field in _COMPARED:
            if field == "recheck_at" and not self._real._resting._backlog.is_new:
                self._compare("due no later", _is_no_later(report.recheck_at, expected.recheck_at), True)
            elif not (late and field in ("look_again_at", "recheck_at")):
                self._compare(field, getattr(report, field), getattr(expected, field))
        if late and expected.recheck_at and not report.recheck_at:  # for some that rested
            self._compare("due at once", 0 < report.look_again_at - report.started < 0.1, True)
        return report

    def _without(self, late: set[str], effects: Sequence[Effect]) -> list[Effect]:
        """The effects but those that say why these jobs wait."""
        return [effect for effect in effects if not (late and self._about(effect) in late)]

    def _about(self, effect: Effect) -> str:
        """The job whose reason to wait it reports."""
        match effect:
            case PodGroupStatusUpdate():
                return effect.group.key
            case PodCondition():
                return self._job_of(effect.pod)
            case Event():
                return effect.about.key if effect.about.kind == "PodGroup" else self._job_of(effect.about)
            case _:
                return ""

    def _job_of(self, pod: ObjectRef) -> str:
        found = self._cluster.find(Pod, pod.key)
        return "" if found is None else group_of(found)

    def _passed_on(self, effects: Sequence[Effect]) -> None:
        self._passed.extend(effects)
        self._emit(effects)

    def _compare(self, what: str, found: Any, expected: Any) -> None:
        if found != expected and isinstance(found, list):
            found, expected = [
                [x for x in one if x not in other] for one, other in ((found, expected), (expected, found))
            ]
            self.differences.append(f"{what}: only {found}\nmissing: {expected}")
        elif found != expected:
            self.differences.append(f"{what}: {found}\nexpected: {expected}")


def _is_no_later(moment: float, expected: float) -> bool:
    """Whether a cycle is due by then: an earlier one may have asked for it, if this one has looked at no job again."""
    return not expected or 0 < moment <= expected


def _others(late: set[str], report: CycleReport) -> list[PendingJob]:
    return [job for job in report.pending if job.name not in late]


async def live(
    rng: Random, configuration: SchedulerConfiguration, lives: type[History] = ForWhichNodesAreMissing
) -> _SideBySide:
    cluster = AnsweringCluster(rng, configuration)
    both: Any = _SideBySide(cluster)
    cluster.loop._scheduler = both
    history = lives(rng, cluster)
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
    return parsed(MORE_CONFIGURATIONS[name])


@pytest.mark.parametrize("name", MORE_CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_rests_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(name)))


@pytest.mark.parametrize("name", MORE_CONFIGURATIONS)
def test_there_are_jobs_that_rest_in_such_histories(name: str) -> None:
    assert any(asyncio.run(live(Random(seed), configured(name))).rested for seed in range(3))


@pytest.mark.parametrize("name", ADMITTING)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_admission_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(name), BeforeAdmission))


@pytest.mark.parametrize("name", ADMITTING)
def test_there_are_jobs_that_rest_before_admission_in_such_histories(name: str) -> None:
    assert any(
        asyncio.run(live(Random(seed), configured(name), BeforeAdmission)).rested_unadmitted for seed in range(5)
    )


@pytest.mark.parametrize("name", WITHOUT_EVICTIONS + WITH_EVICTIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_room_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(name), InAFullCluster))


@pytest.mark.parametrize("name", WITHOUT_EVICTIONS + WITH_EVICTIONS)
def test_there_are_jobs_that_rest_for_room_in_such_histories(name: str) -> None:
    assert any(asyncio.run(live(Random(seed), configured(name), InAFullCluster)).rested_for_room for seed in range(3))


@pytest.mark.parametrize("name", WITHOUT_EVICTIONS + WITH_EVICTIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_a_gang_whose_pods_differ_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(name), OfUnequalPods))


@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_room_in_a_network_is_decided_and_reported_as_if_it_were_new(rng: Random) -> None:
    asyncio.run(live(rng, parsed(NETWORK), InANetwork))


def test_there_are_jobs_that_rest_for_room_in_a_network() -> None:
    assert any(asyncio.run(live(Random(seed), parsed(NETWORK), InANetwork)).rested_for_room for seed in range(3))


@pytest.mark.parametrize("name", WITHOUT_EVICTIONS + WITH_EVICTIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_other_pods_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(name), AmongOthers))


@pytest.mark.parametrize("name", WITHOUT_EVICTIONS + WITH_EVICTIONS)
def test_there_are_jobs_that_rest_for_other_pods_in_such_histories(name: str) -> None:
    assert any(asyncio.run(live(Random(seed), configured(name), AmongOthers)).rested_for_pods for seed in range(10))
