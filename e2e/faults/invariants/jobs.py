"""What must be true of Volcano Jobs once nothing fails any more, checked against the API server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from e2e.faults.churning.job_churn import ChurningJob
from e2e.faults.injection.patience import patiently
from e2e.faults.invariants.cluster import Object, Picture, is_finished, key_of
from e2e.harness.namespace import Namespace

_RUNS = "Running"
_OVER = ("Completed", "Failed", "Terminated")
_ABORTED = "Aborted"

_JOB_NAME, _VERSION = "volcano.sh/job-name", "volcano.sh/job-version"

_MADE_FOR_JOBS = ("services", "configmaps", "secrets", "persistentvolumeclaims")
"""Besides pods and PodGroups."""


async def job_problems(namespace: Namespace, picture: Picture, wanted: Mapping[str, ChurningJob]) -> list[str]:
    """Where the jobs of a namespace, and what was made for them, are other than `wanted`, the jobs as last written."""
    core, batch = f"/api/v1/namespaces/{namespace.name}", "/apis/batch.volcano.sh/v1alpha1"
    jobs = await _listed(namespace, f"{batch}/namespaces/{namespace.name}/jobs")
    made = {
        **{f"pod {key}": pod for key, pod in picture.pods.items()},
        **{f"PodGroup {key}": group for key, group in picture.pod_groups.items()},
    }
    for resource in _MADE_FOR_JOBS:
        made |= {f"{resource} {key_of(each)}": each for each in await _listed(namespace, f"{core}/{resource}")}
    commands = await _listed(namespace, f"/apis/bus.volcano.sh/v1alpha1/namespaces/{namespace.name}/commands")
    found = _not_as_written(jobs, wanted) + _left_behind(jobs, made)
    found += [f"Command {key_of(command)} was not carried out: {command.get('action')}" for command in commands]
    for job in jobs:
        found += [f"job {job['metadata']['name']}: {problem}" for problem in _problems(job, picture)]
    return found


async def _listed(namespace: Namespace, path: str) -> list[Object]:
    answer = await patiently(lambda: namespace.cluster.client.get(path))
    assert answer is not None
    items: list[Object] = answer["items"]
    return items


def _not_as_written(jobs: list[Object], wanted: Mapping[str, ChurningJob]) -> list[str]:
    """Jobs that are missing, too many, or have another spec; one with a time to live goes by itself."""
    there = {job["metadata"]["name"]: job for job in jobs}
    found = [f"job {name} was deleted, and is there" for name in there.keys() - wanted.keys()]
    for name, job in wanted.items():
        if name not in there:
            if "ttlSecondsAfterFinished" not in job.spec:
                found.append(f"job {name} is missing")
        elif {task["name"]: task["replicas"] for task in there[name]["spec"]["tasks"]} != job.replicas:
            found.append(f"job {name} has other tasks than {job.replicas}")
    return found


def _left_behind(jobs: list[Object], made: Mapping[str, Object]) -> list[str]:
    """Objects of jobs that are gone, and those of jobs without an owner."""
    uids = {job["metadata"]["uid"] for job in jobs}
    found = []
    for what, each in made.items():
        owner = _owner(each)
        if owner is not None and owner not in uids:
            deleted = each["metadata"].get("deletionTimestamp")
            found.append(f"{what} is left of a job that is gone" + (f", deleted at {deleted}" if deleted else ""))
        elif owner is None and _JOB_NAME in (each["metadata"].get("labels") or {}):
            found.append(f"{what} has a job's label, and no job owns it")
    return found


def _owner(item: Object) -> str | None:
    """UID of the Volcano Job that controls an object."""
    references = item["metadata"].get("ownerReferences") or []
    return next(
        (
            str(each["uid"])
            for each in references
            if each.get("controller") and each["apiVersion"].startswith("batch.volcano.sh/") and each["kind"] == "Job"
        ),
        None,
    )


def _problems(job: Object, picture: Picture) -> list[str]:
    uid, status = job["metadata"]["uid"], job.get("status") or {}
    phase = str(status.get("state", {}).get("phase", ""))
    pods = [pod for pod in picture.pods.values() if _owner(pod) == uid]
    groups = [group for group in picture.pod_groups.values() if _owner(group) == uid]
    if phase == _RUNS:
        found = _wrong_pods(job, pods) + _wrong_group(job, groups)
    elif phase in (*_OVER, _ABORTED):
        found = [f"{phase}, and pod {key_of(pod)} is alive" for pod in pods if not is_finished(pod)]
        found += [f"{phase}, and has PodGroup {key_of(group)}" for group in groups]
        if phase in _OVER and "ttlSecondsAfterFinished" in job["spec"]:
            found.append(f"{phase}, and its time to live is over")
    else:
        return [f"is {phase or 'new'}: {status}"]
    return found + _wrong_counts(job, pods)


def _wrong_pods(job: Object, pods: list[Object]) -> list[str]:
    """A job that runs has one pod for each replica, all of its newest version, and no other."""
    name, version = job["metadata"]["name"], _number(job, "version")
    wanted = {
        f"{name}-{task['name']}-{index}" for task in job["spec"]["tasks"] for index in range(task.get("replicas", 0))
    }
    there = {pod["metadata"]["name"] for pod in pods}
    found = [f"pod {missing} is missing" for missing in sorted(wanted - there)]
    found += [f"pod {extra} is one too many" for extra in sorted(there - wanted)]
    found += [f"pod {key_of(pod)} is being deleted" for pod in pods if pod["metadata"].get("deletionTimestamp")]
    found += [
        f"pod {key_of(pod)} is of version {_version(pod)}, the job of {version}"
        for pod in pods
        if _version(pod) != version
    ]
    return found


def _wrong_group(job: Object, groups: list[Object]) -> list[str]:
    """A job that runs has one PodGroup, which asks for what the job asks for."""
    metadata, spec = job["metadata"], job["spec"]
    if [group["metadata"]["name"] for group in groups] != [f"{metadata['name']}-{metadata['uid']}"]:
        return [f"has the PodGroups {[key_of(group) for group in groups]}"]
    (group,) = groups
    wanted = {
        "minMember": spec["minAvailable"],
        "minTaskMember": {task["name"]: task.get("replicas", 0) for task in spec["tasks"]},
        "queue": spec["queue"],
    }
    found = [
        f"its PodGroup has {name} {group['spec'].get(name)}, the job {value}"
        for name, value in wanted.items()
        if group["spec"].get(name) != value
    ]
    if _version(group) != _number(job, "version"):
        found.append(f"its PodGroup is of version {_version(group)}, the job of {_number(job, 'version')}")
    return found


def _wrong_counts(job: Object, pods: list[Object]) -> list[str]:
    """The status counts the pods of the newest version, as far as they are among the replicas."""
    status = job["status"]
    by_task: dict[str, Counter[str]] = {}
    leaving = 0
    for pod in pods:
        task, _, index = pod["metadata"]["name"].removeprefix(f"{job['metadata']['name']}-").rpartition("-")
        replicas = {each["name"]: each.get("replicas", 0) for each in job["spec"]["tasks"]}
        if pod["metadata"].get("deletionTimestamp") or _version(pod) < _number(job, "version"):
            leaving += 1
        elif int(index) < replicas[task]:
            by_task.setdefault(task, Counter())[pod["status"].get("phase", "Pending")] += 1
    total: Counter[str] = sum(by_task.values(), Counter())
    wanted: dict[str, Any] = {
        **{phase.lower(): total[phase] for phase in ("Pending", "Running", "Succeeded", "Failed")},
        "terminating": leaving,
    }
    found = [
        f"its status counts {_number(job, name)} {name}, there are {count}"
        for name, count in wanted.items()
        if _number(job, name) != count
    ]
    counted = {task: each["phase"] for task, each in (status.get("taskStatusCount") or {}).items()}
    if counted != by_task:
        found.append(f"its status counts by task {counted}, there are {by_task}")
    return found


def _number(job: Object, field: str) -> int:
    return int(job.get("status", {}).get(field, 0))


def _version(item: Object) -> int:
    return int((item["metadata"].get("annotations") or {}).get(_VERSION, "0"))
