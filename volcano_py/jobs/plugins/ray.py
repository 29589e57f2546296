"""`ray`: starts a Ray cluster, a head and its workers, and gives the head a Service for clients outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import TASK_SPEC
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.names import LONGEST_LABEL
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.hosts import first_host
from volcano_py.jobs.plugins.plugin import JobPlugin, PluginArgumentError, PluginObject
from volcano_py.jobs.plugins.pod_editing import containers, open_port
from volcano_py.jobs.plugins.svc import pods_of

_CLIENT_PORT: Final = "clientPort"
_CLIENT_PORT_IN_GUIDES: Final = "clientServerPort"  # as Volcano's user guide calls it; the program knows the other
_KNOWN: Final = (
    "head", "headContainer", "worker", "workerContainer", "port", "dashboardPort", _CLIENT_PORT, _CLIENT_PORT_IN_GUIDES,
)  # fmt: skip


class RayPlugin(JobPlugin):
    """Arguments: `--head` (head) and `--worker` (worker), names of tasks; `--headContainer` (head) and
    `--workerContainer` (worker), the containers in their pods that run Ray; `--port` (6379) of the control store,
    `--dashboardPort` (8265) and `--clientPort` (10001, also `--clientServerPort`).
    """

    name = "ray"
    requires = ("svc",)

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        given = Arguments(self.name, arguments, known=_KNOWN, warnings=self.warnings)
        self._head, self._worker = given.text("head", "head"), given.text("worker", "worker")
        self._head_container = given.text("headContainer", "head")
        self._worker_container = given.text("workerContainer", "worker")
        self._port = given.port("port", 6379)
        self._ports = {
            "gcs": self._port,
            "dashboard": given.port("dashboardPort", 8265),
            "client-server": given.port(_CLIENT_PORT, given.port(_CLIENT_PORT_IN_GUIDES, 10001)),
        }
        if len(set(self._ports.values())) < len(self._ports):
            raise given.error(f"--port, --dashboardPort and --{_CLIENT_PORT} must be three different ports")

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        del index
        head = self._head_of(job)
        for container in containers(pod):
            if task.name == self._head and container.get("name") == self._head_container:
                for name, port in self._ports.items():
                    open_port(container, name, port)
                container["command"] = _shell(
                    f"ray start --head --block --dashboard-host=0.0.0.0 --port={self._port}"
                    f" --dashboard-port={self._ports['dashboard']}"
                    f" --ray-client-server-port={self._ports['client-server']}"
                )
            elif task.name == self._worker and container.get("name") == self._worker_container:
                container["command"] = _shell(f"ray start --block --address={first_host(job, head)}:{self._port}")

    def objects(self, job: VolcanoJob) -> Sequence[PluginObject]:
        self._head_of(job)
        if len(service := head_service(job)) > LONGEST_LABEL:
            raise PluginArgumentError(
                f"spec.plugins.{self.name}: the Service in front of the head would be called {service}, which has"
                f" {len(service)} characters, the limit is {LONGEST_LABEL}; shorten the job's name"
            )
        return (PluginObject("v1", "Service", service, lambda: self._service(job)),)

    def _head_of(self, job: VolcanoJob) -> Task:
        head = job.task(self._head)
        if head is None:
            tasks = ", ".join(task.name for task in job.spec.tasks)
            raise PluginArgumentError(
                f"spec.plugins.{self.name}: task {self._head!r} does not exist (tasks: {tasks}); name the head's task "
                "with --head"
            )
        return head

    def _service(self, job: VolcanoJob) -> JsonObject:
        ports = [
            {"name": name, "port": port, "targetPort": port, "protocol": "TCP"} for name, port in self._ports.items()
        ]
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": head_service(job)},
            "spec": {"selector": pods_of(job) | {TASK_SPEC: self._head}, "ports": ports},
        }


def head_service(job: VolcanoJob) -> str:
    """The name of the Service in front of the head."""
    return f"{job.metadata.name}-head-svc"


def _shell(command: str) -> list[str]:
    return ["sh", "-c", command]
