"""`pytorch`: what `torch.distributed` reads from the environment: the master's address, rank and number of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.hosts import first_host
from volcano_py.jobs.plugins.plugin import JobPlugin
from volcano_py.jobs.plugins.pod_editing import add_env, containers, open_port, variable

DEFAULT_PORT: Final = 23456
WAITING_CONTAINER: Final = "wait-for-master"

_PORT_NAME: Final = "pytorchjob-port"
_WAIT: Final = "wait-master-enabled"
_WAIT_SECONDS: Final = "wait-master-timeout"
_WAIT_IMAGE: Final = "wait-master-image"
_DEFAULT_IMAGE: Final = "busybox:1.36.1"
_DEFAULT_SECONDS: Final = 300
_DAY: Final = 86_400  # seconds
# Tries netcat, which busybox has, then the pseudo device of bash. Arguments: host, port, seconds.
_WAIT_SCRIPT: Final = """\
left=$3
until nc -z "$1" "$2" 2>/dev/null || (: </dev/tcp/"$1"/"$2") 2>/dev/null; do
  if [ "$left" -le 0 ]; then
    echo "master $1:$2 has not answered within $3 s" >&2
    exit 1
  fi
  sleep 2
  left=$((left - 2))
done
echo "master $1:$2 answers"
"""


class PytorchPlugin(JobPlugin):
    """Arguments: `--master` (master) and `--worker` (worker), names of tasks; `--port` (23456) of the master;
    `--wait-master-enabled` (false): workers start only when the master answers on that port, for which they wait up to
    `--wait-master-timeout` (300) seconds in an init container of `--wait-master-image` (busybox:1.36.1).
    """

    name = "pytorch"
    requires = ("svc",)

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        known = ("master", "worker", "port", _WAIT, _WAIT_SECONDS, _WAIT_IMAGE)
        given = Arguments(self.name, arguments, known=known, switches=frozenset({_WAIT}), warnings=self.warnings)
        self._master = given.text("master", "master")
        self._worker = given.text("worker", "worker")
        self._port = given.port("port", DEFAULT_PORT)
        self._waits = given.switch(_WAIT, False)
        self._wait_seconds = given.number(_WAIT_SECONDS, _DEFAULT_SECONDS, 1, _DAY)
        self._wait_image = given.text(_WAIT_IMAGE, _DEFAULT_IMAGE)

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        master = job.task(self._master)
        if master is None:
            return
        address = str(first_host(job, master))
        variables = [
            variable("MASTER_ADDR", address),
            variable("MASTER_PORT", self._port),
            variable("WORLD_SIZE", self._world_size(job)),
        ]
        if task.name == self._worker:
            variables.append(variable("RANK", index + 1))
            if self._waits:
                self._wait_for(address, pod)
        elif task.name == self._master:
            variables.append(variable("RANK", 0))
        for container in containers(pod):
            open_port(container, _PORT_NAME, self._port)
        add_env(containers(pod), *variables)

    def remarks(self, job: VolcanoJob) -> Sequence[str]:
        lack = "no pod gets MASTER_ADDR, MASTER_PORT, WORLD_SIZE or RANK"
        return tuple(self._without(job, self._master, "master", lack))

    def _world_size(self, job: VolcanoJob) -> int:
        return sum(task.replicas for task in job.spec.tasks if task.name in (self._master, self._worker))

    def _wait_for(self, address: str, pod: JsonObject) -> None:
        others = pod["spec"].get("initContainers") or []
        if any(container.get("name") == WAITING_CONTAINER for container in others):
            return
        command = ["sh", "-c", _WAIT_SCRIPT, "wait", address, str(self._port), str(self._wait_seconds)]
        pod["spec"]["initContainers"] = [
            *others,
            {"name": WAITING_CONTAINER, "image": self._wait_image, "command": command},
        ]
