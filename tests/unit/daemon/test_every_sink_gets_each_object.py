"""FanOut: one sink that fails does not keep an object from the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from tests.support.sessions import node
from volcano_py.api.objects import ApiObject
from volcano_py.daemon.fan_out import FanOut, OnlyKind, WithoutKind


class Remembers:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self.heard.append(f"replace {kind} {len(objects)}")

    def upsert(self, kind: str, obj: ApiObject) -> None:
        self.heard.append(f"upsert {kind}")

    def delete(self, kind: str, obj: ApiObject) -> None:
        self.heard.append(f"delete {kind}")


class Fails(Remembers):
    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        raise RuntimeError("cannot")

    def upsert(self, kind: str, obj: ApiObject) -> None:
        raise RuntimeError("cannot")

    def delete(self, kind: str, obj: ApiObject) -> None:
        raise RuntimeError("cannot")


@pytest.mark.parametrize(
    ("call", "heard", "said"),
    [
        ("replace", "replace Node 1", "sink failed on a list"),
        ("upsert", "upsert Node", "sink failed on an object"),
        ("delete", "delete Node", "sink failed on a deletion"),
    ],
)
def test_all_sinks_are_called_even_if_one_fails_and_the_failure_is_raised(call: str, heard: str, said: str) -> None:
    first, broken, last = Remembers(), Fails(), Remembers()
    sink = FanOut(first, broken, last)
    with capture_logs() as logs, pytest.raises(RuntimeError, match="cannot"):
        getattr(sink, call)("Node", [node("n1")] if call == "replace" else node("n1"))
    assert first.heard == last.heard == [heard]
    assert [(entry["event"], entry["kind"], entry["sink"]) for entry in logs] == [(said, "Node", "Fails")]


def test_one_kind_alone_is_passed_on() -> None:
    sink = Remembers()
    only = OnlyKind("Node", sink)
    for kind in ("Node", "Pod"):
        only.replace(kind, [])
        only.upsert(kind, node("n1"))
        only.delete(kind, node("n1"))
    assert sink.heard == ["replace Node 0", "upsert Node", "delete Node"]


def test_one_kind_is_left_out() -> None:
    rest = Remembers()
    sink = WithoutKind("NodeShard", rest)
    for kind in ("NodeShard", "Node"):
        sink.replace(kind, [node("n1")])
        sink.upsert(kind, node("n1"))
        sink.delete(kind, node("n1"))
    assert rest.heard == ["replace Node 1", "upsert Node", "delete Node"]
