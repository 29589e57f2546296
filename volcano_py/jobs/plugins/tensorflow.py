"""`tensorflow`: what TensorFlow's cluster resolver reads from the environment variable TF_CONFIG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.hosts import hosts_of
from volcano_py.jobs.plugins.plugin import JobPlugin
from volcano_py.jobs.plugins.pod_editing import add_env, containers, variable

DEFAULT_PORT: Final = 2222
_ROLES: Final = ("ps", "worker", "chief", "evaluator")


class TensorflowPlugin(JobPlugin):
    """Arguments: `--ps`, `--worker`, `--chief`, `--evaluator`, the names of the tasks with these roles (by default the
    same); `--port` (2222), on which every one of them listens.
    """

    name = "tensorflow"
    requires = ("svc",)

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        given = Arguments(self.name, arguments, known=(*_ROLES, "port"), warnings=self.warnings)
        self._role_of = {given.text(role, role): role for role in _ROLES}
        self._port = given.port("port", DEFAULT_PORT)

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        if job.replicas == 1 and len(job.spec.tasks) == 1:
            # On its own TensorFlow needs no cluster, and would wait for one.
            return
        config = {
            "cluster": self._cluster(job),
            "task": {"type": self._role_of.get(task.name, task.name), "index": index},
        }
        add_env(containers(pod), variable("TF_CONFIG", json.dumps(config, separators=(",", ":"))))

    def _cluster(self, job: VolcanoJob) -> dict[str, list[str]]:
        """Role → addresses; roles without tasks are left out."""
        members = {
            self._role_of[task.name]: [f"{host}:{self._port}" for host in hosts_of(job, task)]
            for task in job.spec.tasks
            if task.name in self._role_of
        }
        return {role: members[role] for role in _ROLES if members.get(role)}
