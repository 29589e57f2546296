"""Tasks that wait for others (`dependsOn`), and those that would wait forever."""

from __future__ import annotations

from volcano_py.api.wording.summarize import summarize
from volcano_py.jobs.members import Members
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.policies.evaluation import failures, policy_for


def may_start(task: Task, members: Members) -> bool:
    """Whether the tasks that this one depends on have their minimum of pods up, or done."""
    depends = task.depends_on
    if depends is None or not depends.name:
        return True
    if depends.iteration == "any":
        return not members.started.isdisjoint(depends.name)
    return members.started.issuperset(depends.name)


def waits_for_itself(job: VolcanoJob, members: Members) -> str:
    """Why the job can never start, as a gang of pods some of which are created only when others run; "" if it can."""
    phases, spec = members.phases, job.spec
    held = _held(job, members)
    if not held or phases["Running"] or phases["Succeeded"] or phases["Failed"]:
        return ""
    first = job.replicas - sum(task.replicas for task in held)
    minimums = sum(task.minimum for task in spec.tasks)
    every_role = spec.min_available >= minimums and any(task.minimum for task in held)
    if first >= spec.min_available and not every_role:
        return ""
    names = summarize([task.name for task in held])
    most = min(first, minimums - 1) if every_role else first
    waits = "task %s waits" if len(held) == 1 else "tasks %s wait"
    return (
        f"{waits % names} for others (dependsOn), and a gang of {spec.min_available} pods waits for them; set"
        f" spec.minAvailable to {most} at most"
    )


def never_starts(job: VolcanoJob, members: Members) -> str:
    """Why a task can never start: too many pods of those it depends on have failed, and no policy covers it; "" if
    none is so."""
    hopeless = {task.name: place for place, task in enumerate(job.spec.tasks) if _is_hopeless(job, task, members)}
    for task in _held(job, members) if hopeless else ():
        names = task.depends_on.name if task.depends_on is not None else []
        needs_one = task.depends_on is not None and task.depends_on.iteration == "any"
        blocking = hopeless.keys() & names
        if len(blocking) >= (len(names) if needs_one else 1):
            first = job.spec.tasks[min(hopeless[name] for name in blocking)]
            failed = members.phases_of(first.name)["Failed"]
            return (
                f"task {task.name} waits for {first.name} (dependsOn) to have {first.minimum} pods ready or done, and"
                f" {failed} of {first.replicas} have failed; delete those, or give the job a"
                " policy on PodFailed"
            )
    return ""


def _held(job: VolcanoJob, members: Members) -> list[Task]:
    """Tasks whose pods are not created yet because of others."""
    return [task for task in job.spec.tasks if members.is_short_of(task) and not may_start(task, members)]


def _is_hopeless(job: VolcanoJob, task: Task, members: Members) -> bool:
    failed = list(failures(task, members.current[task.name]))
    return task.replicas - len(failed) < task.minimum and not any(policy_for(job, each) for each in failed)
