"""Changes to the objects of a capture. Each gives the objects as they would be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from volcano_py.api.objects import Node, Pod, PriorityClass, metadata_of
from volcano_py.cluster.manifests import VOLCANO_JOB, Document, ManifestError, Stored, made, not_simulated, stored
from volcano_py.jobs.model import VolcanoJob
from volcano_py.what_if.controllers import created_again
from volcano_py.what_if.fields import FieldError, top_level_fields, with_field
from volcano_py.what_if.node_objects import is_of, like_those_of, renamed, with_freed_cpus
from volcano_py.what_if.targets import TargetError, found, with_dependents, without

HOSTNAME: Final = "kubernetes.io/hostname"
MOST_NODES: Final = 10_000
_PASSING: Final = "node.kubernetes.io/"
"""Taints that a node has while something is wrong with it."""
_NUMBER: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)


class ChangeError(ValueError):
    """A change that cannot be made; the text names the option, what was found and the fix."""


class Change(Protocol):
    """Something that would be different."""

    def apply(self, items: Sequence[Stored], now: float) -> list[Stored]:
        """The objects with the change, `now` being the moment of the capture in seconds since the epoch.

        Raises:
            ChangeError: it cannot be made.
        """


class AddNodes(msgspec.Struct, frozen=True):
    """More nodes like one that is there: `gpu-1=3`. They are empty, ready and not cordoned."""

    text: str

    def apply(self, items: Sequence[Stored], now: float) -> list[Stored]:
        name, _, count = self.text.rpartition("=")
        if not name or _NUMBER.fullmatch(count) is None or int(count) > MOST_NODES:
            raise ChangeError(
                f"--add-nodes {self.text}: write a node and how many more like it, 1 to {MOST_NODES}, such as gpu-1=3"
            )
        node = _node(items, name, f"--add-nodes {self.text}")
        taken = {metadata_of(obj).name for kind, obj in items if kind == "Node"}
        free = (f"{name}-new-{number}" for number in range(1, MOST_NODES + len(taken) + 1))
        names = [new for new in free if new not in taken][: int(count)]
        return [*items, *(("Node", _like(node, new, now)) for new in names), *like_those_of(items, name, names)]


class RemoveNode(msgspec.Struct, frozen=True):
    """A node is gone, and the pods on it. Those that a controller creates again wait."""

    name: str

    def apply(self, items: Sequence[Stored], now: float) -> list[Stored]:  # noqa: ARG002
        _node(items, self.name, f"--remove-node {self.name}")
        kept: list[Stored] = []
        for kind, obj in items:
            if is_of(obj, self.name) or (isinstance(obj, Node) and obj.metadata.name == self.name):
                continue
            if isinstance(obj, Pod) and obj.spec.node_name == self.name:
                if (again := created_again(obj)) is not None:
                    kept.append((kind, again))
                continue
            kept.append((kind, obj))
        return kept


class Cordon(msgspec.Struct, frozen=True):
    """A node takes no more pods."""

    name: str

    def apply(self, items: Sequence[Stored], now: float) -> list[Stored]:  # noqa: ARG002
        node = _node(items, self.name, f"--cordon {self.name}")
        return _replaced(items, node, replace(node, spec=replace(node.spec, unschedulable=True)))


class SetField(msgspec.Struct, frozen=True):
    """A field has another value: `queue/research.spec.capability.cpu=20`."""

    text: str

    def apply(self, items: Sequence[Stored], now: float) -> list[Stored]:  # noqa: ARG002
        target, sign, value = self.text.partition("=")
        if not sign:
            raise ChangeError(
                f"--set {self.text}: write KIND/NAME.FIELD=VALUE, such as queue/research.spec.capability.cpu=20"
            )
        try:
            (_, obj), path = _object_and_path(items, target)
            if path.startswith("metadata.") and path.split(".")[1] not in ("labels", "annotations"):
                raise FieldError("of the metadata only labels and annotations can be set")
            return _replaced(items, obj, with_field(obj, path, value))
        except (FieldError, TargetError) as error:
            raise ChangeError(f"--set {self.text}: {error}") from error


class Delete(msgspec.Struct, frozen=True):
    """An object is gone, and with it what it owns. A PodGroup goes with its pods and its owner."""

    text: str

    def apply(self, items: Sequence[Stored], now: float) -> list[Stored]:  # noqa: ARG002
        try:
            gone = with_dependents(items, found(items, self.text))
        except TargetError as error:
            raise ChangeError(f"--delete {self.text}: {error}") from error
        pods = [obj for kind, obj in items if isinstance(obj, Pod) and (kind, obj.metadata.key) in gone]
        return with_freed_cpus(without(items, gone), pods)


class Submit(msgspec.Struct, frozen=True):
    """New objects, created at the moment of the capture."""

    documents: tuple[Document, ...]

    def apply(self, items: Sequence[Stored], now: float) -> list[Stored]:
        try:
            read = stored(self.documents)
            if others := not_simulated(self.documents, read):
                raise ChangeError(
                    f"--submit {self.documents[0].source}: {', '.join(others)} is not simulated; submit pods and"
                    " PodGroups, or a Volcano Job"
                )
            classes = [obj for _, obj in (*items, *read) if isinstance(obj, PriorityClass)]
            created = datetime.fromtimestamp(now, UTC).isoformat()
            new = [_new(document.body, classes, created) for document in self.documents]
        except ManifestError as error:
            raise ChangeError(f"--submit: {error}") from error
        places = {(kind, metadata_of(obj).key) for kind, obj in new}
        return [*without(items, places), *new]


def applied(changes: Sequence[Change], items: Sequence[Stored], now: float) -> list[Stored]:
    """The objects with all changes, made one after the other.

    Raises:
        ChangeError: one cannot be made.
    """
    changed = list(items)
    for change in changes:
        changed = change.apply(changed, now)
    return changed


def _node(items: Sequence[Stored], name: str, option: str) -> Node:
    try:
        _, node = found(items, f"node/{name}")
    except TargetError as error:
        raise ChangeError(f"{option}: {error}") from error
    assert isinstance(node, Node)
    return node


def _like(node: Node, name: str, now: float) -> Node:
    metadata = renamed(node.metadata, name)
    labels = {**metadata.labels, **({HOSTNAME: name} if HOSTNAME in metadata.labels else {})}
    taints = [taint for taint in node.spec.taints if not taint.key.startswith(_PASSING)]
    return replace(
        node,
        metadata=replace(metadata, labels=labels, creation_timestamp=datetime.fromtimestamp(now, UTC)),
        spec=replace(node.spec, unschedulable=False, taints=taints),
    )


def _replaced(items: Sequence[Stored], old: Any, new: Any) -> list[Stored]:
    return [(kind, new if obj is old else obj) for kind, obj in items]


def _object_and_path(items: Sequence[Stored], target: str) -> tuple[Stored, str]:
    """Names may have dots: the object ends where a field of its kind begins."""
    error: TargetError | None = None
    for dot in (match.start() for match in re.finditer(r"\.", target)):
        try:
            item = found(items, target[:dot])
        except TargetError as missing:
            error = error or missing
            continue
        path = target[dot + 1 :]
        if path.partition(".")[0] in top_level_fields(type(item[1])):
            return item, path
        error = TargetError(
            f"{path} does not begin with a known field; use one of: {', '.join(top_level_fields(type(item[1])))}"
        )
    raise error or TargetError(f"{target} names no field; write for example queue/research.spec.weight")


def _new(body: dict[str, Any], classes: Sequence[PriorityClass], created: str) -> Stored:
    metadata = body.get("metadata")
    fresh = {key: value for key, value in body.items() if key != "status" or body.get("kind") in ("Node", "PodGroup")}
    if isinstance(metadata, dict):
        fresh["metadata"] = {**metadata, "creationTimestamp": created}
    obj = made(fresh, classes)
    return (VOLCANO_JOB if isinstance(obj, VolcanoJob) else str(body["kind"])), obj
