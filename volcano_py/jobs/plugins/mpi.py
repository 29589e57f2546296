"""`mpi`: the master gets the list of its workers, as `mpiexec --host` takes them, and reaches them by ssh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.hosts import hosts_of
from volcano_py.jobs.plugins.plugin import JobPlugin
from volcano_py.jobs.plugins.pod_editing import add_env, all_containers, open_port, variable

HOSTS_VARIABLE: Final = "MPI_HOST"
_PORT_NAME: Final = "mpijob-port"


class MpiPlugin(JobPlugin):
    """Arguments: `--master` (master) and `--worker` (worker), names of tasks; `--port` (22), on which sshd listens."""

    name = "mpi"
    requires = ("ssh", "svc")

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        given = Arguments(self.name, arguments, known=("master", "worker", "port"), warnings=self.warnings)
        self.master = given.text("master", "master")
        self.worker = given.text("worker", "worker")
        self._port = given.port("port", 22)

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        del index
        workers = job.task(self.worker)
        if task.name == self.master and workers is None:
            # There is no master; the job's other plugins still do their part.
            return
        targets = all_containers(pod)
        for container in targets:
            open_port(container, _PORT_NAME, self._port)
        if task.name == self.master and workers is not None:
            hosts = ",".join(str(host) for host in hosts_of(job, workers))
            add_env(targets, variable(HOSTS_VARIABLE, hosts))

    def remarks(self, job: VolcanoJob) -> Sequence[str]:
        # Without its master, a Job is refused (`admission.jobs`).
        return tuple(self._without(job, self.worker, "worker", "no pod gets MPI_HOST"))
