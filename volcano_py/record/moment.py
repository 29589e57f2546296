"""The cluster as it was when a cycle began, as a capture, which every verb takes that tries or explains something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from volcano_py.api.objects import ApiObject, Pod, PodGroup, metadata_of
from volcano_py.capture.kinds import OF_NAME
from volcano_py.capture.model import Capture
from volcano_py.cluster.manifests import Stored, read_text, stored
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.record.entries import (
    AssumedBound,
    AssumedEvicted,
    AssumedStatus,
    Began,
    Configured,
    Entry,
    Header,
    Looked,
    Upserted,
)
from volcano_py.record.mirror import Mirror
from volcano_py.record.segments import RecordError, read
from volcano_py.simulation import Simulation

EXPORTED_CYCLES = 20
"""For which an exported scenario runs."""


def capture_at(paths: Iterable[Path], cycle: int) -> Capture:
    """What the cycle of this number began with; of several runs, the last that has it.

    What was handed to the API server and is not confirmed counts as done.

    Raises:
        RecordError: there is no such cycle, or a segment cannot be read.
    """
    found: Capture | None = None
    numbers: list[int] = []
    for began, capture in _moments(paths, cycle):
        numbers.append(began)
        found = capture or found
    if found is None:
        known = f"{min(numbers)} to {max(numbers)}" if numbers else "none"
        raise RecordError(f"no cycle {cycle} in the record; it has {known}")
    return found


def _moments(paths: Iterable[Path], cycle: int) -> Iterator[tuple[int, Capture | None]]:
    """The number of every cycle, with the capture of those that are asked for."""
    mirror, header, now = Mirror(), None, 0.0
    texts: dict[str, str] = {}
    for path in paths:
        skipped = 0
        for entry in read(path):
            match entry:
                case Header():
                    goes_on = header is not None and (header.run, header.sequence + 1) == (entry.run, entry.sequence)
                    mirror, header = (mirror if goes_on else Mirror()), entry
                    skipped = entry.state if goes_on else 0
                case _ if skipped:
                    skipped -= 1
                case Upserted():
                    mirror.object(entry, entry.value())
                case Looked():
                    now = entry.now
                case Configured():
                    texts[entry.digest] = entry.text
                case Began() if header is not None and entry.number == cycle:
                    yield entry.number, _capture(mirror, header, now, texts[entry.digest])
                case Began():
                    yield entry.number, None
                case _:
                    mirror.own(entry)


def _capture(mirror: Mirror, header: Header, now: float, text: str) -> Capture:
    objects: dict[tuple[str, str], ApiObject] = {}
    by_uid: dict[str, tuple[str, str]] = {}
    for entry in mirror.entries():
        if isinstance(entry, Upserted):
            obj = entry.value()
            key = entry.kind, metadata_of(obj).key
            objects[key] = obj
            by_uid[metadata_of(obj).uid] = key
        elif (uid := _about(entry)) in by_uid:
            key = by_uid[uid]
            objects[key] = _with(objects[key], entry, now)
    return Capture(
        taken=now,
        items=tuple((kind, obj) for (kind, _), obj in objects.items()),
        configuration=text,
        source="the record",
        scheduler_names=frozenset(header.scheduler_names),
        default_queue=header.default_queue,
        sharding=header.sharding,
        versions={"volcano-py": header.version},
    )


def _about(entry: Entry) -> str:
    match entry:
        case AssumedBound():
            return entry.binds[0].pod.uid
        case AssumedEvicted():
            return entry.uid
        case AssumedStatus():
            return entry.update.group.uid
        case _:
            return ""


def _with(obj: ApiObject, entry: Entry, now: float) -> ApiObject:
    """The object with what the scheduler has done about it."""
    match obj, entry:
        case Pod(), AssumedBound() if not obj.spec.node_name:
            return replace(obj, spec=replace(obj.spec, node_name=entry.binds[0].node))
        case Pod(), AssumedEvicted() if obj.metadata.deletion_timestamp is None:
            return replace(obj, metadata=replace(obj.metadata, deletion_timestamp=datetime.fromtimestamp(now, UTC)))
        case PodGroup(), AssumedStatus():
            update = entry.update
            return replace(obj, status=replace(obj.status, phase=update.phase, conditions=[*update.conditions]))
        case _:
            return obj


def scenario_of(capture: Capture, title: str, configuration: SchedulerConfiguration, registry: Registry) -> str:
    """A scenario test, as YAML: the cluster, the configuration, and what comes of it in some cycles now. `expect` is
    what is decided; where that is wrong, write what should be."""
    manifests = yaml.safe_dump_all([_manifest(item) for item in capture.items], sort_keys=False)
    simulation = Simulation(stored(read_text(manifests, "the record")), configuration, registry)
    result = simulation.run(EXPORTED_CYCLES)
    held: dict[str, int] = {}
    for pod in simulation.cluster.objects("Pod", Pod):
        group = pod.metadata.annotations.get("scheduling.k8s.io/group-name")
        if group:
            key = f"{pod.metadata.namespace}/{group}"
            held[key] = held.get(key, 0) + bool(pod.spec.node_name)
    header: dict[str, Any] = {
        "scenario": title,
        "cycles": EXPORTED_CYCLES,
        "conf": capture.configuration,
        "expect": {"binds": dict(result.binds), "bound": held, "evictions": [*result.evictions]},
    }
    return yaml.safe_dump(header, sort_keys=False) + "---\n" + manifests


def _manifest(item: Stored) -> dict[str, Any]:
    kind, obj = item
    path = OF_NAME[kind].path
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    return {"apiVersion": path.group_version, "kind": kind, **body}
