"""What one tenant does to all others, with nothing but the rights of `edit` in its own namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from volcano_py.api import names
from volcano_py.local.nodes import DEFAULT_ALLOCATABLE

Manifest = dict[str, Any]

_JOB_API: Final = "batch.volcano.sh/v1alpha1"
# So small that room is never what a stranger waits for.
_SMALL: Final = {"requests": {"cpu": "10m", "memory": "16Mi"}}


@dataclass(frozen=True, slots=True)
class Edit:
    """A merge patch of one of the attack's objects."""

    kind: str
    name: str
    patch: Manifest


@dataclass(frozen=True, slots=True)
class Attack:
    """`objects` are created as fast as the API server takes them; then `edits` go on until the attack ends."""

    title: str
    objects: Callable[[int], Iterator[Manifest]]
    """Given the number of nodes."""
    edits: Callable[[], Iterator[Edit]] | None = None
    edits_per_second: float = 0.0


def pod(name: str, *, group: str = "", labels: Manifest | None = None, **spec: Any) -> Manifest:
    """A small pod; `spec` are further fields of its spec."""
    annotations = {names.GROUP_NAME: group} if group else {}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations, "labels": labels or {}},
        "spec": {**_pod_spec(), "schedulerName": names.DEFAULT_SCHEDULER_NAME, **spec},
    }


def group(name: str, min_member: int, **spec: Any) -> Manifest:
    """A PodGroup; `spec` are further fields of its spec."""
    return {
        "apiVersion": names.SCHEDULING_API,
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": min_member, **spec},
    }


def job(name: str, *tasks: Manifest) -> Manifest:
    """A Volcano Job."""
    return {"apiVersion": _JOB_API, "kind": "Job", "metadata": {"name": name}, "spec": {"tasks": list(tasks)}}


def task(name: str, replicas: int = 1, depends_on: list[str] | None = None) -> Manifest:
    """A task of small pods, which waits for all of the tasks that it depends on."""
    found: Manifest = {"name": name, "replicas": replicas, "template": {"spec": _pod_spec()}}
    return found | {"dependsOn": {"name": depends_on, "iteration": "all"}} if depends_on else found


def _pod_spec() -> Manifest:
    return {"terminationGracePeriodSeconds": 0, "containers": [{"name": "m", "image": "i", "resources": _SMALL}]}


def _dependencies(tasks: int, each: int) -> Attack:
    """One Job in which every task depends on so many of those before it."""

    def objects(_nodes: int) -> Iterator[Manifest]:
        known = [f"t{number}" for number in range(tasks)]
        yield job("web", *(task(name, 1, known[max(0, n - each) : n]) for n, name in enumerate(known)))

    return Attack(f"1 Job of {tasks:,} tasks with {each} dependsOn each", objects)


def _soft_terms(pods: int, each: int) -> Attack:
    """Pods with wishes to be away from all others; every term is another one, and matches every pod."""

    def term(number: int, index: int) -> Manifest:
        selector = {"matchExpressions": [{"key": f"no-{number}-{index}", "operator": "DoesNotExist"}]}
        affinity = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        return {"weight": 1 + index, "podAffinityTerm": affinity}

    def objects(_nodes: int) -> Iterator[Manifest]:
        for number in range(pods):
            wishes = [term(number, index) for index in range(each)]
            anti = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}
            yield pod(f"apart-{number}", affinity=anti)

    return Attack(f"{pods} pods with {each} soft anti-affinity terms each", objects)


def _spreads(pods: int) -> Attack:
    """Pods of one PodGroup, each with a spread that no other pod has."""

    def objects(_nodes: int) -> Iterator[Manifest]:
        yield group("spread", 1)
        for number in range(pods):
            own = {"own": str(number)}
            spread = {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": own},
            }
            yield pod(f"spread-{number}", group="spread", labels=own, topologySpreadConstraints=[spread])

    return Attack(f"{pods:,} pods with a topology spread of its own each", objects)


def _misfits(pods: int) -> Attack:
    """Pods that fit nowhere, no two of one class; one of them is edited all the time."""

    def objects(_nodes: int) -> Iterator[Manifest]:
        for number in range(pods):
            yield pod(f"misfit-{number}", nodeSelector={"nowhere": str(number)})

    def edits() -> Iterator[Edit]:
        for number in count():
            yield Edit("Pod", "misfit-0", {"metadata": {"labels": {"edit": str(number)}}})

    return Attack(f"{pods:,} pods with distinct selectors that fit nowhere, 50 edits/s", objects, edits, 50)


def _small_jobs(jobs: int) -> Attack:
    def objects(_nodes: int) -> Iterator[Manifest]:
        for number in range(jobs):
            yield job(f"small-{number}", task("t", 2))

    return Attack(f"{jobs:,} small Jobs", objects)


def _status_flood(groups: int, edits_per_second: float) -> Attack:
    """PodGroups that lack pods; each edit changes how many, and with it the condition and the event of one of them."""

    def objects(_nodes: int) -> Iterator[Manifest]:
        for number in range(groups):
            yield group(f"lack-{number}", 3)
            yield pod(f"lack-{number}-0", group=f"lack-{number}")

    def edits() -> Iterator[Edit]:
        for number in count():
            yield Edit("PodGroup", f"lack-{number % groups}", {"spec": {"minMember": 4 + number // groups}})

    title = f"{groups} PodGroups that lack pods, {edits_per_second:.0f} edits/s"
    return Attack(title, objects, edits, edits_per_second)


def _empty_groups(each: int, steps: int) -> Attack:
    """PodGroups without pods that ask for a tenth of the cluster, then for a hundredth and so on: together for all that
    overcommit lets them have, to the last bit."""

    def objects(nodes: int) -> Iterator[Manifest]:
        total = nodes * int(DEFAULT_ALLOCATABLE["cpu"]) * 1000
        for step in range(1, steps + 1):
            wanted = {"cpu": f"{max(1, total // 10**step)}m"}
            for number in range(each):
                yield group(f"empty-{step}-{number}", 1, minResources=wanted)

    return Attack(f"{each * steps} empty PodGroups with minResources of more than the whole cluster", objects)


ATTACKS: Final = {
    "dependencies": _dependencies(1000, 120),
    "dependencies-wide": _dependencies(600, 200),
    "soft-terms": _soft_terms(50, 50),
    "spreads": _spreads(1000),
    "misfits": _misfits(2000),
    "misfits-5000": _misfits(5000),
    "small-jobs": _small_jobs(1500),
    "status-flood": _status_flood(500, 200),
    "empty-groups": _empty_groups(15, 7),
}
"""By the name that `--attack` takes."""
