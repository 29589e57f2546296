"""What a job plugin is: it changes the pods of a Job as they are created, and names objects that they need.

A package adds its own through the entry point group `volcano_py.job_plugins`; the entry's name is the key in the Job's
`spec.plugins`, its value the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob


class PluginArgumentError(ValueError):
    """An argument in `spec.plugins` that cannot be read; the text names the plugin, the argument and,
    behind a semicolon, what is right."""


class PluginObject(msgspec.Struct, frozen=True):
    """An object that is to exist as long as the Job does, in its namespace, owned by it.

    `make` gives the whole manifest (apiVersion, kind, metadata.name, content); namespace and owner are filled in by the
    controller. It is called only when the object is missing or has to be compared, so it may draw keys.
    `follows_job`: the object is brought up to what `make` says when it differs (hosts change with replicas). Otherwise
    it is created once and then left alone.
    """

    api_version: str
    kind: str
    name: str
    make: Callable[[], JsonObject]
    follows_job: bool = False


class JobPlugin:
    """Base class. One instance serves one Job; it is created whenever it is needed, so it keeps nothing.

    `requires` names plugins that come along unless the Job lists them itself (with no arguments).
    """

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        """`arguments` are those of the Job's `spec.plugins`, such as `--port=22`.

        Raises:
            PluginArgumentError: an argument cannot be read.
        """
        self.arguments = tuple(arguments)
        self.warnings: list[str] = []
        """Sentences for the Job's author: arguments that are ignored, for example."""

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        """Change the pod, in place, before it is created. `index` is its number within the task, from 0.

        The pod has its name, labels, annotations, owner and volumes already. The outcome must depend on the arguments
        of this call alone: a pod that is created again must be the same.
        """

    def objects(self, job: VolcanoJob) -> Sequence[PluginObject]:
        """What has to exist before the first pod is created.

        Raises:
            PluginArgumentError: the job has not what the plugin needs.
        """
        del job
        return ()

    def remarks(self, job: VolcanoJob) -> Sequence[str]:
        """Sentences for the Job's author about what the plugin needs, does not find in the Job, and does without."""
        del job
        return ()

    def _without(self, job: VolcanoJob, task: str, argument: str, lack: str) -> Iterator[str]:
        """A remark if the job has no task of the name that the argument gives; `lack` is what follows from it."""
        if job.task(task) is None:
            tasks = ", ".join(each.name for each in job.spec.tasks)
            yield (
                f"spec.plugins.{self.name}: task {task!r} does not exist (tasks: {tasks}), so {lack}; "
                f"name the task with --{argument}"
            )
