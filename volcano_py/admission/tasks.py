"""Tasks of a job: their names, numbers, pods and dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from volcano_py.admission.amounts import may_be_overcommitted, read
from volcano_py.admission.dependencies import dependency_violations
from volcano_py.admission.network import topology_violations
from volcano_py.admission.policies import policy_violations
from volcano_py.admission.violation import NOT_SET, Violation
from volcano_py.api.dns_names import is_label
from volcano_py.api.objects import ResourceList
from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.jobs.model import Task
from volcano_py.jobs.names import LONGEST_LABEL, pod_name
from volcano_py.state.terms.label_syntax import LABEL_KEY, LABEL_VALUE

_NO_NUMA: Final = frozenset({"", "none"})


def task_violations(job: str, path: str, tasks: Sequence[Task]) -> Iterator[Violation]:
    """What is wrong with the tasks of the job of this name; `path` is that of the list."""
    if not tasks:
        yield Violation(field=path, value="", rule="at least one task is required", fix="add one with a pod template")
    first: dict[str, int] = {}
    for index, task in enumerate(tasks):
        field = f"{path}[{index}]"
        if (other := first.setdefault(task.name, index)) != index:
            rule, fix = f"is already the name of {path}[{other}]", "give each task its own name"
            yield Violation(field=f"{field}.name", value=task.name, rule=rule, fix=fix)
        yield from number_violations(field, task)
        yield from pod_name_violations(job, field, task)
        yield from policy_violations(f"{field}.policies", task.policies)
        yield from _pod(field, task)
        if task.partition_policy is not None:
            topology = task.partition_policy.network_topology
            yield from topology_violations(f"{field}.partitionPolicy.networkTopology", topology)
    yield from dependency_violations(
        "task",
        {task.name: f"{path}[{first[task.name]}].dependsOn.name" for task in tasks},
        {task.name: task.depends_on.name if task.depends_on is not None else () for task in tasks},
    )


def number_violations(field: str, task: Task) -> Iterator[Violation]:
    """Replicas, minimum and partitions of one task."""
    if task.replicas < 0:
        rule, fix = "is negative", "write 0 or more"
        yield Violation(field=f"{field}.replicas", value=str(task.replicas), rule=rule, fix=fix)
    if task.min_available is not None and task.min_available > task.replicas:
        yield Violation(
            field=f"{field}.minAvailable",
            value=str(task.min_available),
            rule=f"is more than its replicas, {task.replicas}",
            fix="lower it, or raise replicas",
            excess=Fraction(task.min_available - task.replicas),
        )
    policy = task.partition_policy
    if policy is None:
        return
    pods = policy.total_partitions * policy.partition_size
    if policy.total_partitions <= 0 or policy.partition_size <= 0 or pods != task.replicas:
        yield Violation(
            field=f"{field}.partitionPolicy",
            value=f"{policy.total_partitions} partitions of {policy.partition_size}",
            rule=f"do not add up to the task's {task.replicas} replicas",
            fix="choose totalPartitions and partitionSize above 0 whose product is replicas",
        )
    minimum = policy.min_partitions * policy.partition_size
    if policy.min_partitions > 0 and task.min_available is not None and task.min_available != minimum:
        yield Violation(
            field=f"{field}.minAvailable",
            value=str(task.min_available),
            rule=f"is not {policy.min_partitions} partitions of {policy.partition_size}",
            fix=f"write {minimum}, or leave it out",
        )


def pod_name_violations(job: str, field: str, task: Task) -> Iterator[Violation]:
    """A pod's name is its host name, too; the more replicas, the longer."""
    longest = pod_name(job, task.name, max(task.replicas - 1, 0))
    if len(longest) > LONGEST_LABEL:
        yield Violation(
            field=f"{field}.name",
            value=task.name,
            rule=f"makes pod names of {len(longest)} characters ({longest}), the limit is {LONGEST_LABEL}",
            fix="shorten it, or the job's name",
            excess=Fraction(len(longest) - LONGEST_LABEL),
        )


def _pod(field: str, task: Task) -> Iterator[Violation]:
    """The pod template, by the rules of Kubernetes that are broken most often: the API server would refuse each pod,
    and the Job would end after some tries."""
    containers = containers_of(task.template)
    yield from _labels(f"{field}.template.metadata.labels", task.template)
    yield from _containers(f"{field}.template.spec", task.template)
    if not containers:
        where = f"{field}.template.spec.containers"
        yield Violation(field=where, value="", rule="at least one container is required", fix="add one")
    for name in ("containers", "initContainers"):
        for index, container in enumerate(containers_of(task.template, name)):
            yield from _amounts(f"{field}.template.spec.{name}[{index}].resources", container.get("resources"))
    if task.topology_policy not in _NO_NUMA:
        for index, container in enumerate(containers):
            yield from _whole_cpus(f"{field}.template.spec.containers[{index}]", task.topology_policy, container)


def _labels(field: str, template: Mapping[str, Any]) -> Iterator[Violation]:
    metadata = template.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        if not LABEL_KEY.fullmatch(str(key)):
            rule, fix = "is not the key of a label", "write a key such as app or example.com/app"
            yield Violation(field=field, value=str(key), rule=rule, fix=fix)
        if not isinstance(value, str) or not LABEL_VALUE.fullmatch(value):
            rule, fix = "is not the value of a label", "write up to 63 letters, digits, -, _ and . in quotes"
            yield Violation(field=f"{field}[{key}]", value=str(value), rule=rule, fix=fix)


def _containers(field: str, template: Mapping[str, Any]) -> Iterator[Violation]:
    """Each container has an image, and a name that no other one has."""
    names: dict[str, str] = {}
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(containers_of(template, kind)):
            where, name = f"{field}.{kind}[{index}]", str(container.get("name") or "")
            if not container.get("image"):
                yield Violation(field=f"{where}.image", value="", rule="an image is required", fix="name one")
            if not is_label(name):
                rule, fix = "is not a name of a container", "write up to 63 lower-case letters, digits and -"
                yield Violation(field=f"{where}.name", value=name or NOT_SET, rule=rule, fix=fix)
            elif (other := names.setdefault(name, where)) != where:
                rule, fix = f"is already the name of {other}", "give each container its own name"
                yield Violation(field=f"{where}.name", value=name, rule=rule, fix=fix)


def _whole_cpus(field: str, policy: str, container: Mapping[str, Any]) -> Iterator[Violation]:
    """NUMA placement hands out whole CPUs."""
    resources = container.get("resources") or {}
    given = (resources.get("requests") or {}).get("cpu", (resources.get("limits") or {}).get("cpu"))
    try:
        is_whole = given is not None and (amount := parse_quantity(given)) > 0 and amount.denominator == 1
    except QuantityError:
        is_whole = False
    if not is_whole:
        yield Violation(
            field=f"{field}.resources.requests[cpu]",
            value=NOT_SET if given is None else str(given),
            rule=f"is not a whole number of CPUs, which topologyPolicy {policy} requires",
            fix="request whole CPUs, or remove topologyPolicy",
        )


def _amounts(field: str, resources: Any) -> Iterator[Violation]:
    """Kubernetes' own rules for amounts."""
    if not isinstance(resources, Mapping):
        return
    given = {kind: _list_of(resources.get(kind)) for kind in ("requests", "limits")}
    requests, faults = read(given["requests"], f"{field}.requests")
    limits, faults_of_limits = read(given["limits"], f"{field}.limits")
    yield from (*faults, *faults_of_limits)
    for name in requests:
        if name in given["limits"] and name not in limits:
            continue  # (reported already)
        if not may_be_overcommitted(name) and requests[name] != limits.get(name):
            yield Violation(
                field=f"{field}.limits[{name}]",
                value=str(given["limits"].get(name, NOT_SET)),
                rule=f"is not the request, {given['requests'][name]}: {name} cannot be overcommitted",
                fix="write the same amount as limit",
            )
        elif name in limits and requests[name] > limits[name]:
            yield Violation(
                field=f"{field}.requests[{name}]",
                value=str(given["requests"][name]),
                rule=f"is more than the limit, {given['limits'][name]}",
                fix="lower it, or raise the limit",
            )


def _list_of(found: Any) -> ResourceList:
    """A resource list as it came, in which anything can stand."""
    if not isinstance(found, Mapping):
        return {}
    return {
        str(name): amount if isinstance(amount, str | int | float) else str(amount) for name, amount in found.items()
    }


def containers_of(template: Mapping[str, Any], kind: str = "containers") -> list[Mapping[str, Any]]:
    """The containers of a pod template, or its `initContainers`, as far as it is one."""
    spec = template.get("spec")
    found = spec.get(kind) if isinstance(spec, Mapping) else None
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
