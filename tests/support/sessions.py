"""A session of the scheduler from a few objects, for tests of plugins and actions.

    opened = open_session(
        node("n1", cpu="8"),
        queue("q1", weight=3),
        gang("train", pods=4, queue="q1", cpu="1", running_on=["n1"] * 2),
        tiers=[[Gang], [(Drf, {"enablePreemptable": False})]],
    )
    opened.place("train", {"train-2": "n1"})
    assert opened.ssn.ask.job_ready(opened.job("train"))

Objects are the API's own; they go through ClusterState and a snapshot, the configuration through the reader of
volcano-scheduler.conf, so nothing here knows how the scheduler stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np
import yaml

from volcano_py.api import names
from volcano_py.api.effects import Bind, Effect, Evict
from volcano_py.api.objects import (
    Affinity,
    ApiObject,
    Container,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PodSpec,
    PodStatus,
    PriorityClass,
    Queue,
    QueueGuarantee,
    QueueSpec,
    QueueStatus,
    ResourceRequirements,
    SchedulingGate,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from volcano_py.config.parse import ParseResult, parse_configuration
from volcano_py.framework.action import Action
from volcano_py.framework.job import Job, Task
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Motive, Statement
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows

NAMESPACE: Final = "team"
NOW: Final = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
"""The moment of the session; objects are older."""
_BIRTH: Final = NOW - timedelta(days=1)

Quantities = Mapping[str, str]
Objects = ApiObject | Iterable[ApiObject]
PluginChoice = type[Plugin] | tuple[type[Plugin], Mapping[str, Any]]
"""A plugin, or one with keys of its entry in the file: `(Overcommit, {"arguments": {"overcommit-factor": 2}})`."""

P = TypeVar("P", bound=Plugin)


# -- objects ------------------------------------------------------------------------------------------------------


def node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "64Gi",
    pods: str = "110",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    unschedulable: bool = False,
    devices: Quantities | None = None,
    **more: str,
) -> Node:
    """A node. More resources, such as `{"nvidia.com/gpu": "8"}`, come as `devices` or by keyword."""
    return Node(
        metadata=ObjectMeta(name=name, uid=f"node-{name}", labels=dict(labels or {}), creation_timestamp=_BIRTH),
        spec=NodeSpec(unschedulable=unschedulable, taints=list(taints)),
        status=NodeStatus(allocatable={"cpu": cpu, "memory": memory, "pods": pods, **(devices or {}), **more}),
    )


def queue(
    name: str,
    *,
    weight: int = 1,
    priority: int = 0,
    capability: Quantities | None = None,
    guarantee: Quantities | None = None,
    deserved: Quantities | None = None,
    reclaimable: bool | None = None,
    parent: str = "",
    state: str = "Open",
    age: float = 0.0,
) -> Queue:
    """A queue; `age` in seconds makes it older than those without."""
    return Queue(
        metadata=ObjectMeta(name=name, uid=f"queue-{name}", creation_timestamp=_BIRTH - timedelta(seconds=age)),
        spec=QueueSpec(
            weight=weight,
            priority=priority,
            capability=dict(capability or {}),
            guarantee=QueueGuarantee(resource=dict(guarantee or {})),
            deserved=dict(deserved or {}),
            reclaimable=reclaimable,
            parent=parent,
        ),
        status=QueueStatus(state=state),
    )


def priority_class(name: str, value: int) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name, uid=f"priority-{name}"), value=value)


def pod_group(
    name: str,
    *,
    namespace: str = NAMESPACE,
    queue: str = "default",
    min_member: int = 1,
    min_task_member: Mapping[str, int] | None = None,
    min_resources: Quantities | None = None,
    priority_class: str = "",
    phase: str = "Inqueue",
    age: float = 0.0,
) -> PodGroup:
    """A PodGroup; `age` in seconds makes it older than those without."""
    return PodGroup(
        metadata=ObjectMeta(
            namespace=namespace,
            name=name,
            uid=f"group-{namespace}-{name}",
            creation_timestamp=_BIRTH - timedelta(seconds=age),
        ),
        spec=PodGroupSpec(
            min_member=min_member,
            min_task_member=dict(min_task_member or {}),
            queue=queue,
            priority_class_name=priority_class,
            min_resources=None if min_resources is None else dict(min_resources),
        ),
        status=PodGroupStatus(phase=phase),
    )


def pod(
    name: str,
    *,
    group: str = "",
    namespace: str = NAMESPACE,
    cpu: str = "",
    memory: str = "",
    on: str = "",
    phase: str = "",
    role: str = "",
    priority: int | None = None,
    priority_class: str = "",
    deleting: bool = False,
    gates: Sequence[str] = (),
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    affinity: Affinity | None = None,
    tolerations: Sequence[Toleration] = (),
    host_ports: Sequence[int] = (),
    spread: Sequence[TopologySpreadConstraint] = (),
    scheduler: str = names.DEFAULT_SCHEDULER_NAME,
    age: float = 0.0,
    devices: Quantities | None = None,
    **more: str,
) -> Pod:
    """A pod with one container. On a node it runs unless `phase` says otherwise; `age` in seconds."""
    marks = {names.GROUP_NAME: group} if group else {}
    if role:
        marks[names.TASK_SPEC] = role
    asked = {"cpu": cpu, "memory": memory, **(devices or {}), **more}
    requests = {key: value for key, value in asked.items() if value}
    return Pod(
        metadata=ObjectMeta(
            namespace=namespace,
            name=name,
            uid=f"pod-{namespace}-{name}",
            labels=dict(labels or {}),
            annotations={**marks, **(annotations or {})},
            creation_timestamp=_BIRTH - timedelta(seconds=age),
            deletion_timestamp=NOW if deleting else None,
        ),
        spec=PodSpec(
            scheduler_name=scheduler,
            node_name=on,
            node_selector=dict(node_selector or {}),
            affinity=affinity,
            tolerations=list(tolerations),
            containers=[
                Container(
                    name="main",
                    resources=ResourceRequirements(requests=dict(requests)),
                    ports=[ContainerPort(host_port=port, container_port=port) for port in host_ports],
                )
            ],
            topology_spread_constraints=list(spread),
            priority=priority,
            priority_class_name=priority_class,
            scheduling_gates=[SchedulingGate(name=gate) for gate in gates],
        ),
        status=PodStatus(phase=phase or ("Running" if on else "Pending")),
    )


def gang(
    name: str,
    *,
    pods: int = 1,
    running_on: Sequence[str] = (),
    namespace: str = NAMESPACE,
    queue: str = "default",
    min_member: int | None = None,
    min_resources: Quantities | None = None,
    priority_class: str = "",
    group_phase: str = "",
    age: float = 0.0,
    **pod_fields: Any,
) -> list[ApiObject]:
    """A PodGroup with its pods `<name>-0` and so on; the first ones run on the nodes of `running_on`.

    All its pods are its minimum unless `min_member` says otherwise. `age` is that of the group and its pods.
    """
    group = pod_group(
        name,
        namespace=namespace,
        queue=queue,
        min_member=pods if min_member is None else min_member,
        min_resources=min_resources,
        priority_class=priority_class,
        phase=group_phase or ("Running" if running_on else "Inqueue"),
        age=age,
    )
    nodes = [*running_on, *[""] * (pods - len(running_on))]
    members = [
        pod(f"{name}-{index}", group=name, namespace=namespace, on=nodes[index], age=age, **pod_fields)
        for index in range(pods)
    ]
    return [group, *members]


# -- sessions -----------------------------------------------------------------------------------------------------


def binding_failed(name: str, *, seconds: float) -> Callable[[ClusterState], None]:
    """For `prepare`: the pod was to be bound to n1, which failed, and is tried again after so many seconds."""

    def prepare(state: ClusterState) -> None:
        uid = pod(name).metadata.uid
        assert state.assume_bound(uid, "n1")
        state.bind_failed(uid, retry_at=NOW.timestamp() + seconds)

    return prepare


@dataclass
class Opened:
    """A session with what was sent out of it, and short ways to things by name (`namespace/` may be left out)."""

    ssn: Session
    state: ClusterState
    effects: list[Effect] = field(default_factory=list)

    def job(self, name: str) -> Job:
        """The job of a PodGroup."""
        found = self.ssn.job(self.ssn.snapshot.job_keys.index(_key(name)))
        assert found is not None, f"{name} has no queue or no PodGroup"
        return found

    def rows(self, *pods: str) -> Rows:
        """Task rows of pods, in the order given."""
        by_key = {info.key: row for row, info in enumerate(self.ssn.snapshot.tasks) if info is not None}
        return np.array([by_key[_key(name)] for name in pods], dtype=np.intp)

    def names(self, rows: Rows) -> list[str]:
        """Pod names of task rows, in order."""
        return [self.ssn.task_info(row).ref.name for row in rows.tolist()]

    def node_row(self, name: str) -> int:
        return self.ssn.nodes.rows[name]

    def task(self, name: str) -> Task:
        """A pod as the one for which victims are sought."""
        row = int(self.rows(name)[0])
        tasks = self.ssn.ledger.tasks
        job = self.ssn.job(int(tasks.job[row]))
        assert job is not None
        return Task(row, job, self.ssn.task_class(row), int(tasks.priority[row]))

    def running(self, *jobs: str) -> Rows:
        """Rows of all running tasks of the jobs."""
        rows = np.concatenate([self.ssn.tasks_of(self.job(name)) for name in jobs])
        running: Rows = rows[self.ssn.ledger.tasks.status[rows] == TaskStatus.RUNNING]
        return running

    def plugin(self, plugin_type: type[P]) -> P:
        """The session's instance of a plugin."""
        return next(plugin for plugin in self.ssn.dispatch.plugins if isinstance(plugin, plugin_type))

    def victims(self, point: str, preemptor: str, candidates: Rows) -> list[str]:
        """Names of the victims that the plugins give up, sorted."""
        return sorted(self.names(self.ssn.ask.victims(point, self.task(preemptor), candidates)))

    def place(self, job: str, where: Mapping[str, str], statement: Statement | None = None) -> Statement:
        """Allocate pods of a job to nodes, by name, in a statement that is left open."""
        return self._put("allocate", job, where, statement)

    def pipeline(self, job: str, where: Mapping[str, str], statement: Statement | None = None) -> Statement:
        """Promise pods of a job places on nodes that are still being released."""
        return self._put("pipeline", job, where, statement)

    def evict(self, *pods: str, statement: Statement | None = None) -> Statement:
        """Evict running pods."""
        if statement is None:
            statement = self.ssn.statement()
        for name in pods:
            task = self.task(name)
            statement.evict(task.job, task.task_class, self.rows(name), Motive("preempt", "test"))
        return statement

    @property
    def binds(self) -> dict[str, str]:
        """Pod name → node of what was bound."""
        return {effect.pod.name: effect.node for effect in self.effects if isinstance(effect, Bind)}

    @property
    def evictions(self) -> list[str]:
        """Names of the pods that were evicted, in order."""
        return [effect.pod.name for effect in self.effects if isinstance(effect, Evict)]

    def _put(self, how: str, job: str, where: Mapping[str, str], statement: Statement | None) -> Statement:
        if statement is None:
            statement = self.ssn.statement()
        for name, node_name in where.items():
            task = self.task(name)
            nodes = np.array([self.node_row(node_name)], dtype=np.intp)
            getattr(statement, how)(self.job(job), task.task_class, self.rows(name), nodes)
        return statement


def open_session(
    *objects: Objects,
    tiers: Sequence[Sequence[PluginChoice]] = ((),),
    actions: Sequence[type[Action]] = (),
    registry: Registry | None = None,
    configuration: str | None = None,
    default_queue: bool = True,
    sound: bool = True,
    prepare: Callable[[ClusterState], None] = lambda _state: None,
) -> Opened:
    """A session over the objects (lists are flattened), with the plugins of `tiers`.

    Args:
        actions: what the configuration lists, in order.
        registry: with `configuration` (the text of a file), instead of `tiers`.
        default_queue: adds a queue `default` unless there is one.
        sound: no plugin may fail while the session opens.
        prepare: what else happens to the state before the session sees it.
    """
    state = ClusterState()
    everything = list(_flat(objects))
    if default_queue and not any(isinstance(each, Queue) and each.metadata.name == "default" for each in everything):
        everything.insert(0, queue("default"))
    for each in everything:
        state.upsert(type(each).__name__, each)
    prepare(state)
    snapshot = state.snapshot(NOW.timestamp())
    entries = [[_entry(choice) for choice in tier] for tier in tiers]
    text = configuration or _text(entries, [action.name for action in actions] or [_Nothing.name])
    if registry is None:
        plugins = tuple(_plugin(choice) for tier in tiers for choice in tier)
        registry, result = _configured(plugins, tuple(actions) or (_Nothing,), text)
    else:
        result = parse_configuration(text, registry.catalogue())
    assert result.config is not None, [problem.message for problem in result.errors]
    index = NodeIndex(snapshot.nodes, snapshot.nodes_version)
    effects: list[Effect] = []
    ssn = Session(snapshot, result.config, registry, node_index=index, emit=effects.extend, tie_rank=index.name_rank)
    assert not (sound and ssn.dispatch.failures.counts), f"plugins failed at open: {ssn.dispatch.failures.counts}"
    return Opened(ssn, state, effects)


class _Nothing(Action):
    """Stands in the configuration of a session whose test acts by itself."""

    name = "nothing"


def _plugin(choice: PluginChoice) -> type[Plugin]:
    return choice[0] if isinstance(choice, tuple) else choice


def _entry(choice: PluginChoice) -> dict[str, Any]:
    return {"name": _plugin(choice).name, **(choice[1] if isinstance(choice, tuple) else {})}


@lru_cache(maxsize=16)  # a property asks for hundreds of sessions that differ in their objects only
def _configured(
    plugins: tuple[type[Plugin], ...], actions: tuple[type[Action], ...], text: str
) -> tuple[Registry, ParseResult]:
    registry = Registry.of(plugins, actions)
    return registry, parse_configuration(text, registry.catalogue())


def _text(tiers: list[list[dict[str, Any]]], actions: list[str]) -> str:
    found = {"actions": ", ".join(actions), "tiers": [{"plugins": tier} for tier in tiers]}
    text: str = yaml.dump(found, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    return text


def _flat(objects: Iterable[Objects]) -> Iterable[ApiObject]:
    for each in objects:
        if isinstance(each, ApiObject):
            yield each
        else:
            yield from _flat(each)


def _key(name: str) -> str:
    return name if "/" in name else f"{NAMESPACE}/{name}"
