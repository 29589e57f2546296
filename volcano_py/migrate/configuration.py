"""The configuration that Volcano's scheduler reads: what is unknown here, and what means something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from volcano_py.api.names import CONFIG_KEY
from volcano_py.config import Catalogue, SchedulerConfiguration, Severity, parse_configuration
from volcano_py.migrate.model import Finding, Installation, Level

REFERENCE: Final = "docs/reference/configuration.md"
_DIFFERENCES: Final = "docs/differences-from-volcano.md"
_QUEUES, _VICTIMS, _NODES = (f"{_DIFFERENCES}#{section}" for section in ("queues", "victims", "nodes"))

DIFFERENT: Final[Mapping[str, str]] = {
    "capacity": _QUEUES,
    "proportion": _QUEUES,
    "drf": _QUEUES,
    "overcommit": _QUEUES,
    "preempt": _VICTIMS,
    "reclaim": _VICTIMS,
    "gangpreempt": _VICTIMS,
    "gangreclaim": _VICTIMS,
    "resource-strategy-fit": _NODES,
    "nodegroup": _NODES,
    "tdm": _NODES,
    "usage": _NODES,
    "rescheduling": _NODES,
    "sla": _NODES,
    "resourcequota": _NODES,
    "network-topology-aware": f"{_DIFFERENCES}#the-network",
}
"""Action or plugin → the section that says how it differs from Volcano's."""


def of_configuration(installation: Installation, catalogue: Catalogue) -> Iterator[Finding]:
    """What of the configuration stands in the way, or means something else."""
    name, text = installation.configuration()
    about = f"ConfigMap {name}"
    if text is None:
        yield Finding(
            Level.BLOCKS,
            about,
            "no configuration was found in it, so volcano-py would decide by its built-in one",
            f"create it with the key {CONFIG_KEY}, or make it readable",
            "docs/guide/configure.md",
        )
        return
    parsed = parse_configuration(text, catalogue, source=about)
    for problem in parsed.problems:
        is_error = problem.severity is Severity.ERROR
        where = f"line {problem.line}: " if problem.line else ""
        yield Finding(Level.BLOCKS if is_error else Level.DIFFERS, about, f"{where}{problem.message}", "", REFERENCE)
    if parsed.config is not None:
        yield from _different(parsed.config, about)


def _different(configuration: SchedulerConfiguration, about: str) -> Iterator[Finding]:
    """One finding for each page, with the names that it is about."""
    named = [*configuration.actions, *(entry.name for entry in configuration.plugins())]
    pages: dict[str, list[str]] = {}
    for name in dict.fromkeys(named):
        if name in DIFFERENT:
            pages.setdefault(DIFFERENT[name], []).append(name)
    for page, names in pages.items():
        yield Finding(
            Level.NOTE,
            about,
            f"{', '.join(names)}: the page says what volcano-py decides differently",
            "",
            page,
        )
