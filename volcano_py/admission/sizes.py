"""Jobs that are too large to process."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from volcano_py.admission.tasks import containers_of
from volcano_py.admission.violation import Violation
from volcano_py.api.bounds import DEPENDENCIES, MOUNTS, POLICIES, TASKS, Bound
from volcano_py.jobs.model import JobSpec


def size_violations(path: str, spec: JobSpec) -> Iterator[Violation]:
    """Bounds that a job exceeds; `path` is that of its spec."""
    tasks = spec.tasks
    dependencies = sum(len(task.depends_on.name) for task in tasks if task.depends_on is not None)
    yield from beyond(f"{path}.tasks", len(tasks), TASKS, "split the job")
    yield from beyond(f"{path}.tasks", dependencies, DEPENDENCIES, "let a task wait for fewer others")
    yield from beyond(f"{path}.policies", len(spec.policies), POLICIES, "drop some")
    for index, task in enumerate(tasks[: TASKS.most]):
        yield from beyond(f"{path}.tasks[{index}].policies", len(task.policies), POLICIES, "drop some")
        mounts = len(spec.volumes) * len(containers_of(task.template)) if spec.volumes else 0
        yield from beyond(f"{path}.volumes", mounts, MOUNTS, "drop some volumes, or containers", about=task.name)


def beyond(field: str, count: int, bound: Bound, fix: str, about: str = "") -> Iterator[Violation]:
    """The violation there is if `count` is beyond the bound."""
    if count > bound.most:
        yield Violation(
            field=field,
            value=str(count),
            rule=f"{bound.what} exceed the limit of {bound.most}",
            fix=fix,
            about=about,
            excess=Fraction(count - bound.most),
        )
