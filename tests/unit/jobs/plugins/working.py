"""Jobs, and the pods and objects that their plugins make."""

from __future__ import annotations

from typing import Any

import msgspec

from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.names import pod_name
from volcano_py.jobs.plugins import BUILTIN, JobPlugin, JobPlugins

Manifest = dict[str, Any]


def job_of(name: str = "train", *, templates: dict[str, Manifest] | None = None, **replicas: int) -> VolcanoJob:
    """A job with a task for each keyword; `_` in a task's name stands for `-`. `templates`: pod specs by task."""
    tasks = [
        {"name": task.replace("_", "-"), "replicas": count, "template": {"spec": (templates or {}).get(task, {})}}
        for task, count in replicas.items()
    ]
    body = {"metadata": {"name": name, "namespace": "ns", "uid": "uid-1"}, "spec": {"tasks": tasks}}
    return msgspec.convert(body, VolcanoJob)


def pod_of(job: VolcanoJob, *plugins: JobPlugin, task: str, index: int = 0, **spec: Any) -> Manifest:
    """The pod as the plugins leave it; `spec` replaces parts of its template."""
    found = job.task(task)
    assert found is not None
    pod: Manifest = {
        "metadata": {"name": pod_name(job.metadata.name, task, index)},
        "spec": {"containers": [{"name": task}], "initContainers": [{"name": "prepare"}], **spec},
    }
    for plugin in plugins:
        plugin.on_pod_create(pod, job, found, index)
    return pod


def env_of(pod: Manifest, *, init: bool = False) -> dict[str, Any]:
    """Variables of the first container: name → value, or the reference it comes from."""
    (container, *_) = pod["spec"]["initContainers" if init else "containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", [])}


def ports_of(pod: Manifest, container: int = 0) -> dict[str, int]:
    """Ports that a container declares, by name."""
    return {each["name"]: each["containerPort"] for each in pod["spec"]["containers"][container].get("ports", [])}


def kept(job: VolcanoJob, plugin: JobPlugin) -> dict[str, Manifest]:
    """The objects that a plugin keeps for a job, by kind."""
    return {each.kind: each.make() for each in plugin.objects(job)}


def plugins_of(wanted: dict[str, list[str] | None]) -> list[str]:
    """Names of the plugins that a job with these gets, in order."""
    spec = {"plugins": wanted, "tasks": [{"name": "head"}]}
    job = msgspec.convert({"metadata": {"name": "train"}, "spec": spec}, VolcanoJob)
    return [plugin.name for plugin in JobPlugins.of(BUILTIN).for_job(job)]
