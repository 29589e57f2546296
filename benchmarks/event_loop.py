"""What one object can cost the event loop: `python benchmarks/event_loop.py [ATTACK …]`.

Each attack is one object of about the largest size that the API server stores, or many small ones that combine. It goes
through the very functions that the event loop calls. The table shows the longest stretch for which one call holds the
loop, and all of them together, in milliseconds of CPU time: for half of the attack, and for all of it.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from volcano_py.admission.jobs import JobContext
from volcano_py.api.objects import Node, Pod, PodGroup
from volcano_py.api.workloads import PodDisruptionBudget, Service
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.flows.model import JobFlow
from volcano_py.jobs.flows.plan import plan_flow
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plan import World, plan
from volcano_py.jobs.plugins import BUILTIN, JobPlugins, PluginObject
from volcano_py.jobs.plugins.plugin import PluginArgumentError
from volcano_py.operator.jobs.problems import problem_with
from volcano_py.state.cluster_state import ClusterState

Step = Callable[[], object]
Attack = Callable[[int], Iterator[Step]]
"""Calls of one attack of this size, each of which the loop makes without a pause."""

_PLUGINS: Final = JobPlugins.of(BUILTIN)


# -- jobs --------------------------------------------------------------------------------------------------------------


def _job(tasks: list[dict[str, Any]], *, group: str = "Inqueue", **spec: Any) -> World:
    body = {"metadata": {"name": "j", "namespace": "a", "uid": "u"}, "spec": {"tasks": tasks, **spec}}
    job = with_defaults(msgspec.convert({**body, "status": {"state": {"phase": "Pending"}}}, VolcanoJob), JobRules())
    podgroup = {"metadata": {"name": "j-u", "namespace": "a"}, "status": {"phase": group}}
    return World(job=job, group=msgspec.convert(podgroup, PodGroup), plugins=_PLUGINS.for_job(job), now=time.time())


def _task(number: int, replicas: int = 1, size: int = 0, **fields: Any) -> dict[str, Any]:
    annotations = {"x": "x" * size}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    return {"name": f"t{number}", "replicas": replicas, "template": template, **fields}


def _steps_of_job(world: World) -> Iterator[Step]:
    find_problem = problem_with(JobContext(rules=JobRules(), plugins=_PLUGINS))
    problem = ""

    def look() -> None:
        nonlocal problem
        problem = find_problem(world.job)

    yield look
    yield lambda: plan(msgspec.structs.replace(world, problem=problem))


def dependencies(size: int) -> Iterator[Step]:
    """A job of `size` tasks with 120 dependencies each."""
    tasks = [_task(n, dependsOn={"name": [f"t{o}" for o in range(max(0, n - 120), n)]}) for n in range(size)]
    return _steps_of_job(_job(tasks))


def unknown_dependencies(size: int) -> Iterator[Step]:
    """As before, on tasks that there are not."""
    tasks = [_task(n, dependsOn={"name": [f"z{o}" for o in range(120)]}) for n in range(size)]
    return _steps_of_job(_job(tasks))


def many_tasks(size: int) -> Iterator[Step]:
    """A job of `size` * 8 small tasks."""
    return _steps_of_job(_job([_task(n) for n in range(size * 8)]))


def large_template(size: int) -> Iterator[Step]:
    """A job of a template of `size` KB and many replicas."""
    containers = [{"name": f"c{n}", "image": "i", "env": [{"name": "A", "value": "b"}] * 10} for n in range(size * 2)]
    task = _task(0, 1000)
    task["template"]["spec"]["containers"] = containers
    return _steps_of_job(_job([task]))


def hosts(size: int) -> Iterator[Step]:
    """A job of `size` tasks with the plugin svc."""
    return _steps_of_job(_job([_task(n) for n in range(size)], plugins={"svc": []}))


def hosts_of_replicas(size: int) -> Iterator[Step]:
    """A job of `size` thousand replicas with the plugin svc."""
    world = _job([_task(0, replicas=size * 1000)], plugins={"svc": [], "ssh": []})
    for kept in (kept for plugin in world.plugins for kept in plugin.objects(world.job)):

        def make(kept: PluginObject = kept) -> None:
            with contextlib.suppress(PluginArgumentError):
                kept.make()

        if kept.kind == "ConfigMap":
            yield make
    yield from _steps_of_job(world)


def policies(size: int) -> Iterator[Step]:
    """A job of `size` * 8 policies with a timeout, and as many pods that have failed."""
    spec: dict[str, Any] = {
        "policies": [{"exitCode": n + 1, "action": "AbortJob", "timeout": "1h"} for n in range(size * 8)]
    }
    world = _job([_task(0, replicas=size * 2, minAvailable=1)], **spec)
    meta = world.job.metadata
    owner = {
        "kind": "Job",
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "name": meta.name,
        "uid": "u",
        "controller": True,
    }
    pods = [
        {
            "metadata": {"name": f"j-t0-{n}", "namespace": "a", "uid": f"{n}", "ownerReferences": [owner]},
            "status": {"phase": "Failed"},
        }
        for n in range(size * 2)
    ]
    return _steps_of_job(msgspec.structs.replace(world, pods=msgspec.convert(pods, list[Pod])))


def flow(size: int) -> Iterator[Step]:
    """A JobFlow of `size` steps with 120 targets each."""
    steps = [
        {"name": f"t{n}", "dependsOn": {"targets": [f"t{o}" for o in range(max(0, n - 120), n)]}} for n in range(size)
    ]
    found = msgspec.convert({"metadata": {"name": "f", "namespace": "a"}, "spec": {"flows": steps}}, JobFlow)
    yield lambda: plan_flow(found, {}, {}, {}, datetime.now(UTC))


# -- the state ---------------------------------------------------------------------------------------------------------


def _pod(number: int, namespace: str = "a", *, uid: str = "", **fields: Any) -> Pod:
    labels = fields.pop("labels", {"app": "x", "pod": f"p{number}"})
    name = f"{uid}p{number}"
    meta = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels}
    meta["annotations"] = {"scheduling.k8s.io/group-name": "g"}
    containers = fields.pop("containers", [{"name": "c", "resources": {"requests": {"cpu": "1"}}}])
    spec = {"schedulerName": "volcano", "containers": containers, **fields}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}, Pod)


def _state() -> ClusterState:
    state = ClusterState()
    for n in range(100):
        allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        node = {"metadata": {"name": f"n{n}", "labels": {"zone": f"z{n % 3}"}}, "status": {"allocatable": allocatable}}
        state.upsert("Node", msgspec.convert(node, Node))
    return state


def _copies(state: ClusterState) -> Iterator[Step]:
    """What the loop does for a cycle, twice."""
    while not state.is_settled:
        yield state.settle_some
    yield lambda: state.copy(time.time())
    yield lambda: state.copy(time.time())


def _upserts(state: ClusterState, pods: list[Pod]) -> Iterator[Step]:
    for pod in pods:
        yield lambda pod=pod: state.upsert("Pod", pod)  # type: ignore[misc]
    yield from _copies(state)
    for pod in pods:
        yield lambda pod=pod: state.delete("Pod", pod)  # type: ignore[misc]


def _term(selector: dict[str, Any]) -> dict[str, Any]:
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}


def _not_in(value: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "other", "operator": "NotIn", "values": [value]}]}


def soft_terms(size: int) -> Iterator[Step]:
    """`size` pods with 50 soft anti-affinity terms each that match all pods."""
    pods = []
    for n in range(size):
        terms = [{"weight": 1, "podAffinityTerm": _term(_not_in(f"v{n}-{t}"))} for t in range(50)]
        affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
        pods.append(_pod(n, affinity=affinity))
    return _upserts(_state(), pods)


def spreads(size: int) -> Iterator[Step]:
    """`size` pods with a spread of its own each that matches all pods."""
    pods = []
    for n in range(size):
        spread = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **_term(_not_in(f"v{n}"))}
        pods.append(_pod(n, topologySpreadConstraints=[spread]))
    return _upserts(_state(), pods)


def selectors(size: int) -> Iterator[Step]:
    """`size` pods with a node selector of its own each."""
    return _upserts(_state(), [_pod(n, nodeSelector={"pool": f"p{n}"}) for n in range(size)])


def new_names(size: int) -> Iterator[Step]:
    """As before, and pods that ask for resources that no one has asked for."""
    state = _state()
    for n in range(size):
        state.upsert("Pod", _pod(n, nodeSelector={"pool": f"p{n}"}))
    yield from _copies(state)
    for n in range(8):
        containers = [{"name": "c", "resources": {"requests": {f"x/r{n}": "1"}}}]
        yield lambda n=n, asking=containers: state.upsert("Pod", _pod(n, uid="new", containers=asking))  # type: ignore[misc]
        yield from _copies(state)


def large_selector(size: int) -> Iterator[Step]:
    """One pod whose node affinity has `size` * 10 terms."""
    terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": [f"v{n}"]}]} for n in range(size * 10)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return _upserts(_state(), [_pod(0, affinity={"nodeAffinity": required})])


def large_term(size: int) -> Iterator[Step]:
    """One term of `size` * 10 values, and 1,000 pods; then a term of as many namespaces."""
    state = _state()
    for n in range(1000):
        state.upsert("Pod", _pod(n))
    values = {"matchExpressions": [{"key": "pod", "operator": "NotIn", "values": [f"v{n}" for n in range(size * 10)]}]}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [_term(values)]}
    exists = _term({"matchExpressions": [{"key": "pod", "operator": "Exists"}]})
    spaces = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {**exists, "namespaces": [f"n{n}" for n in range(size * 10)]}
        ]
    }
    return _upserts(
        state,
        [
            _pod(0, uid="x", affinity={"podAntiAffinity": apart}),
            _pod(1, uid="x", affinity={"podAntiAffinity": spaces}),
        ],
    )


def many_containers(size: int) -> Iterator[Step]:
    """One pod of `size` * 5 containers with a resource of its own each, tolerations, volumes, ports."""
    containers = [
        {
            "name": f"c{n}",
            "image": f"i{n}",
            "resources": {"requests": {"cpu": f"{n}m", f"x/r{n}": "1"}},
            "ports": [{"hostPort": n + 1, "containerPort": 1}],
        }
        for n in range(size * 5)
    ]
    tolerations = [{"key": f"k{n}", "operator": "Exists"} for n in range(size * 5)]
    volumes = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(size * 5)]
    return _upserts(_state(), [_pod(0, containers=containers, tolerations=tolerations, volumes=volumes)])


def containers_with_limits(size: int) -> Iterator[Step]:
    """A pod of `size` * 5 containers, each with amounts of its own."""
    containers = []
    for n in range(size * 5):
        amounts = {"cpu": f"{n}m", "memory": f"{n}Mi"}
        containers.append({"name": f"c{n}", "image": "i", "resources": {"requests": amounts, "limits": amounts}})
    return _upserts(_state(), [_pod(0, containers=containers)])


def sidecars(size: int) -> Iterator[Step]:
    """A pod of `size` * 5 sidecars, each with a resource of its own."""
    containers = [
        {"name": f"c{n}", "restartPolicy": "Always", "resources": {"requests": {f"x/r{n}": "1"}}}
        for n in range(size * 5)
    ]
    return _upserts(_state(), [_pod(0, initContainers=containers)])


def shared_claim(size: int) -> Iterator[Step]:
    """`size` * 2 pods that share one claim; then the claim changes."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    return _upserts(_state(), [_pod(n, volumes=volumes) for n in range(size * 2)])


def services(size: int) -> Iterator[Step]:
    """`size` Services that select all of 1,000 pods, by a label that they have."""
    state = _state()
    for n in range(1000):
        state.upsert("Pod", _pod(n))
    for n in range(size):
        body = {"metadata": {"name": f"s{n}", "namespace": "a", "uid": f"{n}"}, "spec": {"selector": {"app": "x"}}}
        service = msgspec.convert(body, Service)
        yield lambda service=service: state.upsert("Service", service)  # type: ignore[misc]
    yield from _copies(state)


def budgets(size: int) -> Iterator[Step]:
    """`size` * 5 PodDisruptionBudgets in one namespace."""
    state = _state()
    for n in range(size * 5):
        body = {"metadata": {"name": f"s{n}", "namespace": "a"}, "spec": {"selector": {"matchLabels": {"app": "x"}}}}
        state.upsert("PodDisruptionBudget", msgspec.convert(body, PodDisruptionBudget))
    yield from _copies(state)


def groups(size: int) -> Iterator[Step]:
    """`size` * 5 PodGroups; then a PodGroup of `size` * 20 entries in minTaskMember."""
    state = _state()
    made: list[dict[str, Any]] = [
        {"metadata": {"name": f"s{n}", "namespace": "a"}, "spec": {"minMember": 1}} for n in range(size * 5)
    ]
    tasks, resources = {f"t{n}": 1 for n in range(size * 20)}, {f"x/r{n}": "1" for n in range(size * 20)}
    spec = {"minTaskMember": tasks, "minResources": resources}
    made.append({"metadata": {"name": "large", "namespace": "a"}, "spec": spec})
    for group in msgspec.convert(made, list[PodGroup]):
        yield lambda group=group: state.upsert("PodGroup", group)  # type: ignore[misc]
    yield from _copies(state)


ATTACKS: Final[dict[Attack, int]] = {
    dependencies: 1000,
    unknown_dependencies: 1000,
    many_tasks: 1000,
    large_template: 1000,
    hosts: 1000,
    hosts_of_replicas: 1000,
    policies: 1000,
    flow: 1000,
    soft_terms: 100,
    spreads: 2000,
    selectors: 5000,
    new_names: 5000,
    large_selector: 1000,
    large_term: 2000,
    many_containers: 1000,
    containers_with_limits: 1000,
    sidecars: 1000,
    shared_claim: 1000,
    services: 1000,
    budgets: 1000,
    groups: 1000,
}


def measure(attack: Attack, size: int) -> tuple[float, float]:
    """The longest call and all calls together, in milliseconds."""
    gc.collect()  # what others have left
    longest = total = 0.0
    for step in attack(size):
        before = time.thread_time()
        step()
        taken = (time.thread_time() - before) * 1000
        longest, total = max(longest, taken), total + taken
    return longest, total


def main() -> None:
    wanted = set(sys.argv[1:])
    collect_seldom()  # as the daemon does
    sys.stdout.write(f"{'attack':24} {'size':>6} {'half: longest':>14} {'all':>9} {'whole: longest':>15} {'all':>9}\n")
    for attack, size in ATTACKS.items():
        if wanted and attack.__name__ not in wanted:
            continue
        figures = (*measure(attack, size // 2), *measure(attack, size))
        columns = " ".join(f"{figure:{width}.0f}" for figure, width in zip(figures, (14, 9, 15, 9), strict=True))
        sys.stdout.write(f"{attack.__name__:24} {size:6} {columns}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
