"""A sink of what sources of load measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from volcano_py.api.objects import NodeMetrics
from volcano_py.state.nodes.loads import Load


class Kept:
    """Remembers what it is given. No source hands on objects but metrics-server (`KeptObjects`)."""

    def __init__(self) -> None:
        self.loads: dict[str, Load] = {}

    def measured(self, loads: Mapping[str, Load]) -> None:
        self.loads.update(loads)

    def replace(self, kind: str, objects: Sequence[NodeMetrics]) -> None:
        raise AssertionError((kind, objects))


class KeptObjects(Kept):
    def __init__(self) -> None:
        super().__init__()
        self.objects: list[NodeMetrics] = []

    def replace(self, kind: str, objects: Sequence[NodeMetrics]) -> None:
        assert kind == "NodeMetrics"
        self.objects = list(objects)
