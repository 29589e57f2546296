"""All findings about one cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from volcano_py.capture.model import Capture
from volcano_py.config import parse_configuration
from volcano_py.framework.registry import Registry
from volcano_py.migrate.apis import of_crds, of_webhooks
from volcano_py.migrate.configuration import of_configuration
from volcano_py.migrate.metrics import of_metrics
from volcano_py.migrate.model import Finding, Installation, Level, Raw, Unread
from volcano_py.migrate.objects import of_jobs, of_objects, of_queues
from volcano_py.migrate.schedulers import Flags, of_schedulers


class Program(msgspec.Struct, frozen=True):
    """What this version of volcano-py is: the flags of `run`, its plugins and actions, and its CRDs by name."""

    flags: Flags
    registry: Registry
    crds: Mapping[str, Raw]


class Verdict(msgspec.Struct, frozen=True):
    """The findings, the most important ones first, and what could not be looked at."""

    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]

    def of_level(self, level: Level) -> list[Finding]:
        return [each for each in self.findings if each.level is level]


def check(installation: Installation, program: Program, capture: Capture | None, now: datetime) -> Verdict:
    """`capture` has the objects that decisions follow from; None leaves out what volcano-py would decide on them."""
    levels = list(Level)
    findings = sorted(_findings(installation, program, capture, now), key=lambda each: levels.index(each.level))
    return Verdict(tuple(findings), installation.unread)


def _findings(
    installation: Installation, program: Program, capture: Capture | None, now: datetime
) -> Iterator[Finding]:
    yield from of_schedulers(installation, program.flags, now)
    yield from of_configuration(installation, program.registry.catalogue())
    yield from of_crds(installation, program.crds)
    yield from of_webhooks(installation)
    yield from of_objects(installation)
    _, text = installation.configuration()
    configuration = parse_configuration(text, program.registry.catalogue()).config if text is not None else None
    if configuration is not None:
        yield from of_queues(installation, configuration, program.registry)
        if capture is not None:
            yield from of_jobs(capture, configuration, program.registry)
    yield from of_metrics(installation)
