"""`env`: gives each pod its number within its task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.plugin import JobPlugin
from volcano_py.jobs.plugins.pod_editing import add_env, all_containers, variable

INDEX_VARIABLES: Final = ("VK_TASK_INDEX", "VC_TASK_INDEX")
"""The older name and today's."""


class EnvPlugin(JobPlugin):
    """Takes no arguments."""

    name = "env"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        Arguments(self.name, arguments, known=(), warnings=self.warnings)

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        del job, task
        add_env(all_containers(pod), *(variable(name, index) for name in INDEX_VARIABLES))
