"""Which nodes the scheduler sees when it has only a part of the cluster (`--node-selector`)."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.objects import ApiObject, Node
from volcano_py.cluster.protocol import Sink


class NodeFilter:
    """Lets nodes with any of the labels through to a sink, and everything that is not a node.

    A node that loses its label is deleted there; pods on it are kept by the state as those of an unknown node are.
    """

    def __init__(self, sink: Sink, labels: Sequence[tuple[str, str]]) -> None:
        self._sink = sink
        self._labels = labels

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self._sink.replace(kind, [obj for obj in objects if self._passes(obj)])

    def upsert(self, kind: str, obj: ApiObject) -> None:
        if self._passes(obj):
            self._sink.upsert(kind, obj)
        else:
            self._sink.delete(kind, obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        self._sink.delete(kind, obj)

    def _passes(self, obj: ApiObject) -> bool:
        if not isinstance(obj, Node):
            return True
        return any(obj.metadata.labels.get(key) == value for key, value in self._labels)
