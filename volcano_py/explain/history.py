"""What has happened to a workload: conditions and events, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from volcano_py.api.objects import Condition
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.explain.model import Entry
from volcano_py.explain.now import as_captured, captured_group
from volcano_py.explain.target import Target
from volcano_py.explain.world import World
from volcano_py.jobs.model import VolcanoJob

Story = Callable[[str], Iterable[Entry]]
"""What is known besides of a PodGroup, given as namespace/name: in the order of what happened."""


def no_story(_group: str) -> Iterable[Entry]:
    """Nothing, where there is no record."""
    return ()


def history(world: World, target: Target, events: Sequence[Entry] = (), story: Story = no_story) -> tuple[Entry, ...]:
    """Conditions of the Job, the PodGroup and its pods as the cluster has them, those of the events that are about
    them, and the story, oldest first. Conditions without a time are left out."""
    group, pods = captured_group(world, target), as_captured(world, target)
    entries: list[Entry] = []
    about = {f"PodGroup {target.group}", *(f"Pod {pod.metadata.key}" for pod in (*pods, *target.pods))}
    if group is not None:
        entries += _conditions(f"PodGroup {group.metadata.key}", group.status.conditions)
    for job in _jobs(world, target):
        about.add(f"Job {job.metadata.key}")
        entries += _phases(job)
    for pod in pods:
        entries += _conditions(f"Pod {pod.metadata.key}", pod.status.conditions)
    entries += [event for event in events if event.object in about]
    entries.sort(key=lambda entry: (entry.at, entry.object, entry.text))
    return tuple(sorted((*entries, *story(target.group)), key=lambda entry: entry.at))


def moment(at: datetime) -> str:
    """RFC 3339, in whole seconds."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _jobs(world: World, target: Target) -> Iterator[VolcanoJob]:
    """The Job of the PodGroup."""
    for kind, job in world.items:
        if kind == VOLCANO_JOB and isinstance(job, VolcanoJob):
            owns = target.found is not None and job.owns(target.found.metadata)
            if owns or (target.kind == "job" and job.metadata.key == target.name):
                yield job


def _phases(job: VolcanoJob) -> Iterator[Entry]:
    for condition in job.status.conditions:
        if condition.last_transition_time is not None:
            yield Entry(moment(condition.last_transition_time), f"Job {job.metadata.key}", f"phase {condition.status}")


def _conditions(name: str, conditions: Iterable[Condition]) -> Iterator[Entry]:
    for condition in conditions:
        if condition.last_transition_time is not None:
            why = f" ({condition.reason}): {condition.message}" if condition.message else f" ({condition.reason})"
            text = f"{condition.type}={condition.status}{why if condition.reason else ''}"
            yield Entry(moment(condition.last_transition_time), name, text)
