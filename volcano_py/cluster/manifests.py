"""Manifests read as an API server would store them, for clusters in memory.

Defaults are filled in (namespace, phase, priority from the class); what has no creation time is created in document
order; what has no UID of its own gets one. Kinds that scheduling does not read are ignored.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson
import yaml

from volcano_py.api import hyper_nodes, objects, volumes, workloads
from volcano_py.api.devices import claims, slices
from volcano_py.api.json_values import is_deeper_than
from volcano_py.api.numa.topologies import NUMATOPOLOGY, Numatopology
from volcano_py.api.objects import ApiObject, ObjectMeta, PriorityClass, metadata_of
from volcano_py.api.shards import node_shards
from volcano_py.api.wording.summarize import counted
from volcano_py.cluster.admitted import admitted
from volcano_py.cluster.memory_volumes import with_default_class
from volcano_py.cluster.yaml_bounds import DEEPEST, BoundError, load_all
from volcano_py.jobs.model import VolcanoJob

_NO_TEXT: Final = re.compile(r"Expected `str`, got `\w+` - at `\$\.(?P<path>.+)\[\.\.\.\]`")
_STEP: Final = re.compile(r"\w+")

VOLCANO_JOB: Final = "VolcanoJob"
"""What Volcano's Jobs are kept as."""

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Virtual time begins here."""

_OF_GROUP: Final[Mapping[str, Mapping[str, type[ApiObject]]]] = {
    "": {
        "Pod": objects.Pod,
        "Node": objects.Node,
        "Namespace": objects.Namespace,
        "ResourceQuota": objects.ResourceQuota,
        "Service": workloads.Service,
        "ReplicationController": workloads.ReplicationController,
        "PersistentVolumeClaim": volumes.PersistentVolumeClaim,
        "PersistentVolume": volumes.PersistentVolume,
    },
    "apps": dict.fromkeys(("ReplicaSet", "StatefulSet", "DaemonSet"), workloads.Workload),
    "batch": {"Job": workloads.Workload},
    "batch.volcano.sh": {"Job": VolcanoJob},
    "metrics.k8s.io": {"NodeMetrics": objects.NodeMetrics},
    "policy": {"PodDisruptionBudget": workloads.PodDisruptionBudget},
    "scheduling.k8s.io": {"PriorityClass": objects.PriorityClass},
    "scheduling.volcano.sh": {"PodGroup": objects.PodGroup, "Queue": objects.Queue},
    "resource.k8s.io": {
        "ResourceClaim": claims.ResourceClaim,
        "ResourceClaimTemplate": claims.ResourceClaimTemplate,
        "DeviceClass": claims.DeviceClass,
        "ResourceSlice": slices.ResourceSlice,
    },
    "storage.k8s.io": {
        "StorageClass": volumes.StorageClass,
        "CSINode": volumes.CSINode,
        "CSIDriver": volumes.CSIDriver,
        "CSIStorageCapacity": volumes.CSIStorageCapacity,
    },
    "shard.volcano.sh": {"NodeShard": node_shards.NodeShard},
    "nodeinfo.volcano.sh": {NUMATOPOLOGY: Numatopology},
    "topology.volcano.sh": {"HyperNode": hyper_nodes.HyperNode},
}
"""API group → kind → what its objects are read as."""
_OTHER_SHAPES: Final = frozenset({"resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1"})
"""Versions whose objects have their fields elsewhere than those of the version that is read."""
_OWNERS_OF_PODS: Final = (workloads.Workload, workloads.ReplicationController)
_CLUSTER_SCOPED: Final = frozenset(
    {
        "Node",
        "Namespace",
        "Queue",
        "PriorityClass",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "DeviceClass",
        "ResourceSlice",
        "NodeMetrics",
        "HyperNode",
        NUMATOPOLOGY,
        "NodeShard",
    }
)
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
# Classes that every cluster has (scheduling.k8s.io system priority classes).
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

MOST_CHARACTERS: Final = 256 * 2**20
"""Of one file. 100,000 pods as kubectl prints them have about as many."""

Stored = tuple[str, ApiObject]
"""(kind, object)"""


class ManifestError(ValueError):
    """A manifest that cannot be read; the text names the file, the document and the field."""


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document and its position."""

    source: str
    number: int
    body: dict[str, Any]

    @property
    def where(self) -> str:
        metadata = self.body.get("metadata")
        name = metadata.get("name", "?") if isinstance(metadata, dict) else "?"
        return f"{self.source}, document {self.number} ({self.body.get('kind', 'no kind')} {name})"


def read_paths(paths: Iterable[Path]) -> list[Document]:
    """All documents of files and folders, folders by file name.

    Raises:
        ManifestError: a path does not exist or cannot be read, or is not YAML.
    """
    documents: list[Document] = []
    for path in paths:
        if not path.exists():
            raise ManifestError(f"{path}: no such file or folder")
        files = _manifests(path) if path.is_dir() else [path]
        if not files:
            raise ManifestError(f"{path}: no .yaml, .yml or .json file in it")
        for file in files:
            try:
                text = _read(file)
            except UnicodeDecodeError as error:
                raise ManifestError(f"{file}: not a text file in UTF-8") from error
            except OSError as error:
                raise ManifestError(f"{file}: {error.strerror}") from error
            documents.extend(read_text(text, str(file)))
    return documents


def _read(file: Path) -> str:
    with file.open(encoding="utf-8") as stream:
        return bounded(stream.read(MOST_CHARACTERS + 1), str(file))


def bounded(text: str, source: str) -> str:
    """The text.

    Raises:
        ManifestError: it is larger than a manifest may be.
    """
    if len(text) > MOST_CHARACTERS:
        raise ManifestError(f"{source}: more than {MOST_CHARACTERS} characters; split it into several files")
    return text


def _manifests(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and not path.is_dir())


def _fault(error: yaml.YAMLError) -> str:
    """Place and fault on one line; the parser spreads them over several, with a name of its own for the text."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    started = f" ({error.context})" if error.context else ""
    return f"{place}{error.problem or 'cannot be read'}{started}"


def read_text(text: str, source: str = "manifest") -> list[Document]:
    """All documents of one text; `List` documents are opened.

    Raises:
        ManifestError: the text is not YAML, or a document is not an object.
    """
    try:
        bodies = _bodies(text)
    except yaml.YAMLError as error:
        raise ManifestError(f"{source}: not YAML: {_fault(error)}") from error
    except BoundError as error:
        raise ManifestError(f"{source}: {error}") from error
    documents: list[Document] = []
    for number, body in enumerate(bodies, start=1):
        if body is None:
            continue
        if not isinstance(body, dict):
            raise ManifestError(f"{source}, document {number}: found {type(body).__name__}, expected an object")
        documents.extend(Document(source, number, part) for part in _parts(body, f"{source}, document {number}"))
    return documents


def _bodies(text: str) -> list[Any]:
    if text.startswith("{"):
        # What kubectl lists of a large cluster is read many times as fast as JSON; YAML may begin like that, too.
        with suppress(orjson.JSONDecodeError):
            body = orjson.loads(text)
            if is_deeper_than(DEEPEST, body):
                raise BoundError(f"nested deeper than {DEEPEST} levels")
            return [body]
    return load_all(text)


def _parts(body: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """The items of a list, else the object itself. Those of a list of one kind, as the API server answers it, do not
    say what they are."""
    kind, items = str(body.get("kind", "")), body.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield body
        return
    of = kind.removesuffix("List")
    implied = {"apiVersion": body.get("apiVersion"), "kind": of} if of else {}
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise ManifestError(f"{where}: items[{number}] is a {type(item).__name__}, expected an object")
        yield item if "kind" in item else {**implied, **item}


def stored(documents: Iterable[Document]) -> list[Stored]:
    """The objects of the documents, of the kinds that scheduling reads; a later one replaces its namesake. The system
    PriorityClasses are always among them.

    Raises:
        ManifestError: a field has the wrong type.
    """
    found: dict[tuple[str, str], ApiObject] = {
        ("PriorityClass", name): PriorityClass(
            metadata=ObjectMeta(name=name, uid=f"priorityclass--{name}"), value=value
        )
        for name, value in _SYSTEM_CLASSES.items()
    }
    holders: dict[str, tuple[str, str]] = {}
    for index, document in enumerate(documents):
        wanted = _read_as(document.body)
        if wanted is None:
            continue
        kind = _kept_as(document.body, wanted)
        obj = _stored(document, kind, wanted, index)
        place = kind, metadata_of(obj).key
        if holders.setdefault(metadata_of(obj).uid, place) != place:
            obj = _with_own_uid(obj, kind)
        found[place] = obj
    priorities = {obj.metadata.name: obj for obj in found.values() if isinstance(obj, PriorityClass)}
    classes = [obj for obj in found.values() if isinstance(obj, volumes.StorageClass)]
    return [
        (kind, with_default_class(obj, classes))
        if isinstance(obj, volumes.PersistentVolumeClaim)
        else (kind, admitted(obj, priorities))
        for (kind, _), obj in found.items()
    ]


def not_simulated(documents: Sequence[Document], read: Iterable[Stored]) -> list[str]:
    """How many documents of each kind have no effect in a cluster in memory. `read`: what `stored` made of them.

    These are the kinds that it does not read, and workloads that lack all their pods: no controller creates these.
    """
    bodies = [document.body for document in documents if _read_as(document.body) is None]
    named = [str(body["kind"]) for body in bodies if body.get("kind")]
    counts = Counter([*named, *_without_pods(documents, read)])
    found = [f"{count} {kind}" for kind, count in sorted(counts.items())]
    unnamed = len(bodies) - len(named)
    return [*found, f"{counted(unnamed, 'object')} without a kind"] if unnamed else found


def _without_pods(documents: Iterable[Document], read: Iterable[Stored]) -> Iterator[str]:
    """The kind of each workload that asks for pods, of which there are none."""
    asking = [each.body for each in documents if _read_as(each.body) in _OWNERS_OF_PODS and _asks_for_pods(each.body)]
    if not asking:
        return
    owners = {
        (owner.kind, obj.metadata.namespace, owner.name)
        for _, obj in read
        if isinstance(obj, objects.Pod)
        for owner in obj.metadata.owner_references
    }
    for body in asking:
        kind, metadata = str(body["kind"]), body["metadata"]
        if (kind, metadata.get("namespace") or "default", metadata["name"]) not in owners:
            yield "Job (batch/v1)" if kind == "Job" else kind


def _asks_for_pods(body: Mapping[str, Any]) -> bool:
    """Not if it is scaled to zero, has ended or is suspended, as are many of those that kubectl lists."""
    spec, status = (part if isinstance(part := body.get(name), dict) else {} for name in ("spec", "status"))
    if spec.get("parallelism" if body["kind"] == "Job" else "replicas", 1) == 0 or spec.get("suspend"):
        return False
    conditions = status.get("conditions")
    ends = [{"type": name, "status": "True"} for name in ("Complete", "Failed")]
    return not any(
        isinstance(each, dict) and each.items() >= end.items()
        for each in (conditions if isinstance(conditions, list) else ())
        for end in ends
    )


def made(body: dict[str, Any], priorities: Iterable[PriorityClass]) -> ApiObject:
    """An object that a controller makes while the cluster lives; `priorities` are the classes there are.

    Raises:
        ManifestError: a field has the wrong type, as in a pod template that no API server has looked at.
    """
    wanted = _read_as(body)
    assert wanted is not None, "controllers make only what scheduling reads"
    obj = _stored(Document("made by a controller", 1, body), _kept_as(body, wanted), wanted, 0)
    return admitted(obj, {each.metadata.name: each for each in priorities})


def _read_as(body: Mapping[str, Any]) -> type[ApiObject] | None:
    """None for a kind that scheduling does not read: other APIs have a Queue, a PodGroup or a Service of their own. A
    hand-written manifest may leave the API out."""
    kind, version = str(body.get("kind", "")), body.get("apiVersion")
    if version in _OTHER_SHAPES:
        return None
    groups = _OF_GROUP if version is None else (str(version).rpartition("/")[0],)
    return next((kinds[kind] for group in groups if kind in (kinds := _OF_GROUP.get(group, {}))), None)


def _kept_as(body: Mapping[str, Any], read_as: type[ApiObject]) -> str:
    """The kind under which objects are kept: Volcano's Jobs and those of `batch/v1` share their name."""
    return VOLCANO_JOB if read_as is VolcanoJob else str(body["kind"])


def _stored(document: Document, kind: str, wanted: type[ApiObject], index: int) -> ApiObject:
    body = _without_nulls(document.body)
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("name", "") == "":
        raise ManifestError(f"{document.where}: metadata.name is missing")
    if not isinstance(metadata["name"], str):
        raise ManifestError(f"{document.where}: metadata.name is {metadata['name']!r}, expected text: put it in quotes")
    if kind in _CLUSTER_SCOPED:
        metadata.pop("namespace", None)
    else:
        metadata.setdefault("namespace", "default")
    if not metadata.get("uid"):
        metadata["uid"] = _uid(kind, metadata.get("namespace", ""), metadata["name"])
    metadata.setdefault("creationTimestamp", (EPOCH + timedelta(milliseconds=index)).isoformat())
    try:
        return msgspec.convert(body, type=wanted, strict=False)
    except msgspec.ValidationError as error:
        raise ManifestError(f"{document.where}: {_in_words(error, body)}") from error


def _in_words(error: msgspec.ValidationError, body: Mapping[str, Any]) -> str:
    """What the decoder says; it does not name the key whose value is no text, as unquoted numbers and booleans are."""
    fault = _NO_TEXT.fullmatch(str(error))
    if fault is None or "[...]" in fault["path"]:
        return str(error)
    texts: Any = body
    for step in _STEP.findall(fault["path"]):
        texts = texts[int(step) if isinstance(texts, list) else step]
    key, value = next((key, value) for key, value in texts.items() if not isinstance(value, str))
    written = json.dumps(value, default=str).strip('"')
    return f"{fault['path']}[{key}] is {written}, expected text: put it in quotes"


def _with_own_uid(obj: ApiObject, kind: str) -> ApiObject:
    """For a copy of a stored object: the API server gives it another UID than the manifest's."""
    meta = metadata_of(obj)
    changed = msgspec.structs.replace(meta, uid=_uid(kind, meta.namespace, meta.name))
    return msgspec.structs.replace(obj, metadata=changed)


def _uid(kind: str, namespace: str, name: str) -> str:
    return f"{kind.lower()}-{namespace}-{name}"


def _without_nulls(value: Any) -> Any:
    """A copy without null fields, which the API server drops as well. Whole numbers beyond 64 bits become text: as such
    quantities are stored, and nothing else takes them."""
    if isinstance(value, dict):
        return {str(key): _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    return value
