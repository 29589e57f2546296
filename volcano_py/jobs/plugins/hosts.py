"""The names under which the pods of a Job find each other: `<hostname>.<subdomain>`, served by the headless Service."""

from __future__ import annotations

import msgspec

from volcano_py.api.bounds import HOSTS
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.names import LONGEST_LABEL, pod_name
from volcano_py.jobs.plugins.plugin import PluginArgumentError


class Host(msgspec.Struct, frozen=True):
    """One pod's name in DNS, within its namespace."""

    name: str
    subdomain: str

    def __str__(self) -> str:
        return f"{self.name}.{self.subdomain}"


def hosts_of(job: VolcanoJob, task: Task) -> list[Host]:
    """The hosts of a task, by index.

    A task whose template sets a hostname has just that one, however many replicas it asks for.

    Raises:
        PluginArgumentError: the job has more pods than can be listed.
    """
    if job.replicas > HOSTS.most:
        raise PluginArgumentError(
            f"the job has {job.replicas} pods; plugins list at most {HOSTS.most} hosts; ask for fewer replicas, or do"
            " without the plugin"
        )
    hostname, subdomain = names_own_host(task)
    subdomain = subdomain or job.metadata.name
    if hostname:
        return [Host(hostname, subdomain)] if task.replicas else []
    return [Host(pod_name(job.metadata.name, task.name, index), subdomain) for index in range(task.replicas)]


def first_host(job: VolcanoJob, task: Task) -> Host:
    """The host of the task's first pod, whether or not the task has pods."""
    hostname, subdomain = names_own_host(task)
    return Host(hostname or pod_name(job.metadata.name, task.name, 0), subdomain or job.metadata.name)


def names_own_host(task: Task) -> tuple[str, str]:
    """Hostname and subdomain that the task's template sets itself; "" where it does not."""
    spec = task.template.get("spec") or {}
    return spec.get("hostname") or "", spec.get("subdomain") or ""


def volume_name(job: VolcanoJob, suffix: str) -> str:
    """`<job>-<suffix>`, or a plain name where no volume can be called so: a job's name may be longer, and have dots."""
    name = f"{job.metadata.name}-{suffix}"
    return name if len(name) <= LONGEST_LABEL and "." not in name else f"volcano-{suffix}"
