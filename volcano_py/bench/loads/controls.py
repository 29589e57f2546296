"""The objects of an attack as another scheduler would own them: what they cost others is the API server's part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano_py.bench.loads.attacks import Manifest, group, pod

OTHER_SCHEDULER: Final = "another-scheduler"
"""Runs nowhere. What names it is created, stored and shown by the API server, and left alone by everybody else."""


def without_scheduler(made: Manifest) -> Iterator[Manifest]:
    """The object with its pods given to the other scheduler.

    A Job becomes the PodGroup and the pods that its controller would create at first: those of the tasks that depend on
    no other. A PodGroup without pods is left out, as it belongs to no scheduler in particular.
    """
    if made["kind"] == "Job":
        yield from _pods_of_job(made)
    elif made["kind"] == "Pod":
        yield made | {"spec": made["spec"] | {"schedulerName": OTHER_SCHEDULER}}
    elif "minResources" not in made["spec"]:
        yield made


def _pods_of_job(job: Manifest) -> Iterator[Manifest]:
    name = job["metadata"]["name"]
    first = [task for task in job["spec"]["tasks"] if "dependsOn" not in task]
    yield group(name, sum(task["replicas"] for task in first))
    for task in first:
        for index in range(task["replicas"]):
            yield pod(f"{name}-{task['name']}-{index}", group=name, schedulerName=OTHER_SCHEDULER)
