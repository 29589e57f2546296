"""Objects with fields that are ignored here, and jobs that would wait for a reason of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from volcano_py.api.hyper_nodes import HyperNodeSpec
from volcano_py.api.objects import PodGroupSpec, Queue, QueueSpec
from volcano_py.api.reasons import Rank
from volcano_py.capture.model import Capture
from volcano_py.capture.start import simulation_of
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.framework.status.ignored_fields import FieldUse, SharingFields
from volcano_py.jobs.flows.model import JobFlow
from volcano_py.jobs.model import VolcanoJob
from volcano_py.migrate.model import Finding, Installation, Level

_SHOWN: Final = 3
_QUEUES: Final = "docs/guide/queues.md"
_PAGES: Final[Mapping[str, str]] = {
    "Queue": _QUEUES,
    "PodGroup": "docs/guide/gangs.md",
    "Job": "docs/guide/jobs.md",
    "JobFlow": "docs/guide/cron-jobs-and-flows.md",
    "HyperNode": "docs/guide/network.md",
}


def _spec_of(kind: type[msgspec.Struct]) -> type[Any]:
    """The type of its field `spec`."""
    found: type[Any] = next(each.type for each in msgspec.structs.fields(kind) if each.name == "spec")
    return found


_SPECS: Final[Mapping[str, type[Any]]] = {
    "Queue": QueueSpec,
    "PodGroup": PodGroupSpec,
    "Job": _spec_of(VolcanoJob),
    "JobFlow": _spec_of(JobFlow),
    "HyperNode": HyperNodeSpec,
}


def of_objects(installation: Installation) -> Iterator[Finding]:
    """Fields that are set and that this scheduler does not read: one finding for each, with the objects."""
    for kind, spec in _SPECS.items():
        known = inspect.type_info(spec)
        holders: dict[str, list[str]] = {}
        for raw in installation.of_kind(kind):
            metadata = raw["metadata"]
            for path in sorted(set(unknown_fields(raw.get("spec") or {}, known, "spec"))):
                holders.setdefault(path, []).append(
                    "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
                )
        for path, names in holders.items():
            yield Finding(
                Level.DIFFERS,
                some(kind, names),
                f"{path} has no effect here",
                "leave it out",
                _PAGES[kind],
            )


def of_queues(
    installation: Installation, configuration: SchedulerConfiguration, registry: Registry
) -> Iterator[Finding]:
    """Fields of queues that the configuration does not use."""
    use = FieldUse.of(configuration, registry.plugins)
    for raw in installation.of_kind("Queue"):
        queue = msgspec.convert(raw, Queue, strict=False)
        for field in use.ignored(SharingFields.of(queue)):
            yield Finding(Level.DIFFERS, f"Queue {queue.metadata.name}", field.message, "", _QUEUES)


def of_jobs(capture: Capture, configuration: SchedulerConfiguration, registry: Registry) -> Iterator[Finding]:
    """PodGroups that volcano-py would keep waiting for what they are, whatever room there is: by its own first cycle on
    this cluster."""
    simulation = simulation_of(capture, configuration, registry)
    simulation.step()
    reports = simulation.result(settled=True).reports
    for pending in reports[-1].pending if reports else ():
        if pending.reason.rank is Rank.MISCONFIGURED:
            yield Finding(
                Level.DIFFERS,
                f"PodGroup {pending.name}",
                f"it would wait with {pending.reason}: {pending.message}",
                "",
                "docs/reference/reasons.md",
            )


def unknown_fields(value: Any, known: inspect.Type, path: str) -> Iterator[str]:
    """Paths of what the value sets and the type has no field for; items of a list share a path."""
    if isinstance(known, inspect.UnionType):
        known = next((each for each in known.types if not isinstance(each, inspect.NoneType)), known)
    if isinstance(known, inspect.StructType) and isinstance(value, dict):
        fields = {each.encode_name: each.type for each in known.fields}
        for name, below in value.items():
            if name in fields:
                yield from unknown_fields(below, fields[name], f"{path}.{name}")
            elif below not in (None, "", 0, False, [], {}):
                yield f"{path}.{name}"
    elif isinstance(known, inspect.ListType) and isinstance(value, list):
        for below in value:
            yield from unknown_fields(below, known.item_type, f"{path}[]")
    elif isinstance(known, inspect.DictType) and isinstance(value, dict):
        for below in value.values():
            yield from unknown_fields(below, known.value_type, f"{path}.*")


def some(kind: str, names: list[str]) -> str:
    """`PodGroup a, b, c and 9 more`"""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{kind} {', '.join(names[:_SHOWN])}{more}"
