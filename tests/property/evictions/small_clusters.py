"""Clusters so small that all choices of victims can be looked at, and what the scheduler evicts in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tests.support.registries import checked_registry
from volcano_py.api.names import GROUP_NAME, PREEMPTABLE, TASK_SPEC
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY: Final = checked_registry()
CONFIGURATION: Final = """
actions: "enqueue, allocate, {action}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}, {{name: pdb}}]
- plugins: [{queues}, {{name: predicates}}, {{name: nodeorder}}]
configurations:
- name: gangpreempt
  arguments: {{order: priority-first}}
"""
PRIORITIES: Final = (1, 1, 5, 10)
THEIRS: Final = (0, 1)
"""The queues that hold the nodes; the job that waits is in a third one, or for preempt in the first."""

Object = dict[str, Any]
Victims = frozenset[tuple[int, int]]
"""Pods as (job, pod)."""


class Role(NamedTuple):
    """Of a job's pods, in their order, so many have this role, and so many of them are needed."""

    pods: int
    minimum: int


class Runs(NamedTuple):
    """A job that runs: its minimum, of each pod the node and the CPUs, its queue and its priority; its roles if it has
    any, which pods say that they are not preemptable, and how many disruptions its budget allows."""

    minimum: int
    pods: tuple[tuple[int, int], ...]
    queue: int = 0
    priority: int = 1
    roles: tuple[Role, ...] = ()
    spared: frozenset[int] = frozenset()
    budget: int | None = None

    def role_of(self, pod: int) -> int:
        """The place of its role among those of the job; -1 without roles."""
        ends = [sum(role.pods for role in self.roles[: at + 1]) for at in range(len(self.roles))]
        return next((at for at, end in enumerate(ends) if pod < end), -1)


class World(NamedTuple):
    """Nodes by their CPUs, the jobs that hold them (the newest last), what their queues deserve and are guaranteed, how
    many pods of how many CPUs wait, with the highest priority, and the action.

    `due` is what the queue of the job that waits deserves; None: all there is. `fair`: all queues have fair shares
    (HDRF), of equal weights, and what they deserve does not count.
    """

    nodes: tuple[int, ...]
    jobs: tuple[Runs, ...]
    deserved: tuple[int, int]
    guarantee: tuple[int, int]
    waiting: int
    size: int
    action: str = "reclaim"
    due: int | None = None
    fair: bool = False

    @property
    def takes_back(self) -> bool:
        """Whether it is between queues."""
        return self.action.endswith("reclaim")


def decide(world: World) -> Victims:
    """The victims of one cycle."""
    queues = "{name: drf, enableHierarchy: true}" if world.fair else "{name: capacity}"
    parsed = parse_configuration(CONFIGURATION.format(action=world.action, queues=queues), REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    documents = [Document("generated", number, body) for number, body in enumerate(_objects(world))]
    simulation = Simulation(stored(documents), parsed.config, REGISTRY)
    simulation.step()
    assert not simulation.reports[-1].plugin_errors
    assert not simulation.reports[-1].action_errors
    assert simulation.state.drift() == 0
    names = (key.removeprefix("default/j").split("-") for key in simulation.cluster.evictions)
    return frozenset((int(job), int(pod)) for job, pod in names)


def _objects(world: World) -> Iterator[Object]:
    total = sum(world.nodes)
    for number, cpus in enumerate(world.nodes):
        allocatable = {"cpu": cpus, "pods": 110}
        yield {"kind": "Node", "metadata": {"name": f"n{number}"}, "status": {"allocatable": allocatable}}
    for priority in set(PRIORITIES):
        yield {"kind": "PriorityClass", "metadata": {"name": f"p{priority}"}, "value": priority}
    for queue in THEIRS:
        yield _queue(queue, world.deserved[queue] if world.takes_back else total, world.guarantee[queue])
    yield _queue(2, total if world.due is None else world.due)
    for number, job in enumerate(world.jobs):
        yield from _running(number, job)
    name = "q2" if world.takes_back else "q0"
    yield _group("w", name, world.waiting, max(PRIORITIES), "Inqueue", second=len(world.jobs))
    for pod in range(world.waiting):
        yield _pod("w", pod, world.size, max(PRIORITIES))


def _queue(number: int, deserved: int, guarantee: int = 0) -> Object:
    shares = {"volcano.sh/hierarchy": f"root/q{number}", "volcano.sh/hierarchy-weights": "1/1"}
    spec = {"deserved": {"cpu": deserved}, "guarantee": {"resource": {"cpu": guarantee}}}
    return {"kind": "Queue", "metadata": {"name": f"q{number}", "annotations": shares}, "spec": spec}


def _running(number: int, job: Runs) -> Iterator[Object]:
    name = f"j{number}"
    group = _group(name, f"q{job.queue}", job.minimum, job.priority, "Running", second=number)
    if job.roles:
        group["spec"]["minTaskMember"] = {f"r{at}": role.minimum for at, role in enumerate(job.roles)}
    yield group
    for pod, (node, size) in enumerate(job.pods):
        body = _pod(name, pod, size, job.priority, node=f"n{node}")
        if job.roles:
            body["metadata"]["annotations"][TASK_SPEC] = f"r{job.role_of(pod)}"
        if pod in job.spared:
            body["metadata"]["annotations"][PREEMPTABLE] = "false"
        yield body
    if job.budget is not None:
        yield {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": name}}},
            "status": {"disruptionsAllowed": job.budget},
        }


def _group(name: str, queue: str, minimum: int, priority: int, phase: str, *, second: int) -> Object:
    created = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
        "spec": {"minMember": minimum, "queue": queue, "priorityClassName": f"p{priority}"},
        "status": {"phase": phase},
    }


def _pod(group: str, number: int, cpus: int, priority: int, node: str = "") -> Object:
    spec: Object = {
        "schedulerName": "volcano",
        "priorityClassName": f"p{priority}",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": cpus}}}],
    }
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{group}-{number}",
            "namespace": "default",
            "labels": {"app": group},
            "annotations": {GROUP_NAME: group},
        },
        "spec": {**spec, "nodeName": node} if node else spec,
        "status": {"phase": "Running" if node else "Pending"},
    }
