"""`svc`: pods of a Job find each other by name, and no other pod reaches them.

A headless Service gives every pod a name in DNS, a ConfigMap lists these names, a NetworkPolicy keeps others out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from volcano_py.api.bounds import VARIABLES
from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.names import JOB_NAME, JOB_NAMESPACE
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.hosts import hosts_of, volume_name
from volcano_py.jobs.plugins.plugin import JobPlugin, PluginArgumentError, PluginObject
from volcano_py.jobs.plugins.pod_editing import add_env, add_volume, all_containers, mount

MOUNT_PATH: Final = "/etc/volcano"

_PUBLISH: Final = "publish-not-ready-addresses"
_NO_POLICY: Final = "disable-network-policy"
_HOSTS_ENV: Final = "inject-hosts-env"
_SWITCHES: Final = (_PUBLISH, _NO_POLICY, _HOSTS_ENV)


class SvcPlugin(JobPlugin):
    """Arguments are switches.

    `--publish-not-ready-addresses` (false): names resolve before pods are ready. `--disable-network-policy` (false):
    pods can be reached by others. `--inject-hosts-env` (true): names also come as environment variables; off for jobs
    with so many pods that they would be too long.
    """

    name = "svc"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        given = Arguments(self.name, arguments, known=_SWITCHES, switches=frozenset(_SWITCHES), warnings=self.warnings)
        self._publishes_not_ready = given.switch(_PUBLISH, False)
        self._shields = not given.switch(_NO_POLICY, False)
        self._injects = given.switch(_HOSTS_ENV, True)

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        del task, index
        spec = pod["spec"]
        spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
        spec["subdomain"] = spec.get("subdomain") or job.metadata.name
        targets = all_containers(pod)
        source = hosts_config_map(job)
        if self._injects:
            keys = [key for each in job.spec.tasks for key in _variables(each)]
            if len(keys) * len(targets) > VARIABLES.most:
                raise PluginArgumentError(
                    f"{len(keys)} variables for each of {len(targets)} containers are more than {VARIABLES.most} for a"
                    f" pod; set --{_HOSTS_ENV}=false and read the hosts from {MOUNT_PATH}"
                )
            add_env(
                targets,
                *({"name": key, "valueFrom": {"configMapKeyRef": {"name": source, "key": key}}} for key in keys),
            )
        volume = volume_name(job, self.name)
        add_volume(pod, volume, {"configMap": {"name": source}})
        mount(targets, volume, MOUNT_PATH)

    def objects(self, job: VolcanoJob) -> Sequence[PluginObject]:
        name = job.metadata.name
        if "." in name:
            raise PluginArgumentError(
                f"spec.plugins.{self.name}: the job's name, {name}, has dots, which a Service cannot have; give the "
                "job another name"
            )
        kept = [
            PluginObject("v1", "ConfigMap", hosts_config_map(job), lambda: _config_map(job), follows_job=True),
            PluginObject("v1", "Service", name, lambda: self._service(job)),
        ]
        if self._shields:
            kept.append(PluginObject("networking.k8s.io/v1", "NetworkPolicy", name, lambda: _network_policy(job)))
        return kept

    def _service(self, job: VolcanoJob) -> JsonObject:
        spec: JsonObject = {"clusterIP": "None", "selector": pods_of(job)}
        if self._publishes_not_ready:
            spec["publishNotReadyAddresses"] = True
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": job.metadata.name}, "spec": spec}


def hosts_config_map(job: VolcanoJob) -> str:
    """The name of the ConfigMap with the hosts."""
    return f"{job.metadata.name}-svc"


def pods_of(job: VolcanoJob) -> dict[str, str]:
    """Labels that the Job's pods have, and no others in the namespace."""
    return {JOB_NAME: job.metadata.name, JOB_NAMESPACE: job.metadata.namespace}


def _key(task: Task) -> str:
    return task.name.replace("-", "_")


def _variables(task: Task) -> tuple[str, str]:
    key = _key(task).upper()
    return f"VC_{key}_HOSTS", f"VC_{key}_NUM"


def _config_map(job: VolcanoJob) -> JsonObject:
    data: dict[str, str] = {}
    for task in job.spec.tasks:
        hosts = [str(host) for host in hosts_of(job, task)]
        list_of_hosts, number = _variables(task)
        data[f"{_key(task)}.host"] = "\n".join(hosts)
        data[list_of_hosts] = ",".join(hosts)
        data[number] = str(len(hosts))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": hosts_config_map(job)}, "data": data}


def _network_policy(job: VolcanoJob) -> JsonObject:
    selector = {"matchLabels": pods_of(job)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": job.metadata.name},
        "spec": {
            "podSelector": selector,
            "ingress": [{"from": [{"podSelector": selector}]}],
            "policyTypes": ["Ingress"],
        },
    }
