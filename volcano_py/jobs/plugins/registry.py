"""Which job plugins there are: ours, and those that other packages install."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Final

import msgspec
import structlog

from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins.plugin import JobPlugin, PluginArgumentError

ENTRY_POINTS: Final = "volcano_py.job_plugins"

log = structlog.get_logger(__name__)


class JobPlugins(msgspec.Struct, frozen=True):
    """Plugin classes by the name that Jobs use."""

    classes: Mapping[str, type[JobPlugin]]

    @classmethod
    def of(cls, plugins: Iterable[type[JobPlugin]]) -> JobPlugins:
        return cls(MappingProxyType({plugin.name: plugin for plugin in plugins}))

    def with_installed(self) -> JobPlugins:
        """These and everything installed through entry points; ours cannot be replaced, broken ones are logged."""
        found = dict(self.classes)
        for entry in entry_points(group=ENTRY_POINTS):
            if entry.name in found:
                log.error("job plugin ignored: the name is taken", plugin=entry.name, entry_point=entry.value)
                continue
            try:
                # Importing it runs the other package's code, which may raise anything.
                loaded = entry.load()
            except Exception:
                log.exception("job plugin ignored: it cannot be imported", plugin=entry.name, entry_point=entry.value)
                continue
            if not (isinstance(loaded, type) and issubclass(loaded, JobPlugin)):
                log.error("job plugin ignored: it is not a JobPlugin", plugin=entry.name, entry_point=entry.value)
                continue
            found[entry.name] = loaded
        return JobPlugins(MappingProxyType(found))

    def for_job(self, job: VolcanoJob) -> Sequence[JobPlugin]:
        """The plugins of the job, those that others require before those that require them.

        Raises:
            PluginArgumentError: a plugin is unknown, requires itself, cannot read its arguments, or cannot serve the
                job.
        """
        made: dict[str, JobPlugin] = {}
        for name in job.spec.plugins:
            self._add(name, "spec.plugins", job, made, ())
        return tuple(made.values())

    def plugin_for(self, job: VolcanoJob, name: str) -> JobPlugin:
        """The plugin of this name, of those in `classes`, for the job.

        Raises:
            PluginArgumentError: it cannot read its arguments, or cannot serve the job.
        """
        try:
            plugin = self.classes[name](job.spec.plugins.get(name) or ())
            plugin.objects(job)
        except PluginArgumentError:
            raise
        except Exception as error:
            # It may come from outside this project.
            raise PluginArgumentError(f"spec.plugins.{name}: {type(error).__name__}: {error}") from error
        return plugin

    def _add(
        self, name: str, asked_by: str, job: VolcanoJob, made: dict[str, JobPlugin], waiting: tuple[str, ...]
    ) -> None:
        """To `made`, after those that it requires; `waiting` are those that require it, directly or not."""
        if name in made:
            return
        if name in waiting:
            raise PluginArgumentError(f"{asked_by}: it requires {name}, which requires it")
        plugin = self.classes.get(name)
        if plugin is None:
            known = ", ".join(sorted(self.classes)) or "none"
            raise PluginArgumentError(f"{asked_by}: job plugin {name!r} does not exist (known: {known})")
        for required in plugin.requires:
            self._add(required, f"job plugin {name}", job, made, (*waiting, name))
        made[name] = self.plugin_for(job, name)
