"""FanOut: one sink that fails does not keep an object from the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from tests.support.sessions import node
from volcano_py.api.objects import ApiObject
from volcano_py.daemon.fan_out import FanOut, OnlyKinds, WithoutKinds


class Remembers:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self.heard.append(f"replace {kind} {len(objects)}")

    def upsert(self, kind: str, obj: ApiObject) -> None:
        self.heard.append(f"upsert {kind}")

    def delete(self, kind: str, obj: ApiObject) -> None:
        self.heard.append(f"delete {kind}")


class RemembersMany(Remembers):
    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self.heard.append(f"upsert_all {kind} {len(objects)}")


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


def test_many_objects_come_at_once_or_one_by_one_as_a_sink_can_take_them() -> None:
    one_by_one, broken, at_once = Remembers(), Fails(), RemembersMany()
    sink = FanOut(one_by_one, broken, at_once)
    with capture_logs() as logs, pytest.raises(RuntimeError, match="cannot"):
        sink.upsert_all("Node", [node("n1"), node("n2")])
    assert one_by_one.heard == ["upsert Node", "upsert Node"]
    assert at_once.heard == ["upsert_all Node 2"]
    assert [entry["event"] for entry in logs] == ["sink failed on one of several objects"]


def test_many_objects_of_one_kind_alone_are_passed_on() -> None:
    chosen, rest = RemembersMany(), RemembersMany()
    for kind in ("Node", "Pod"):
        OnlyKinds(chosen, "Node").upsert_all(kind, [node("n1")])
        WithoutKinds(rest, "Node").upsert_all(kind, [node("n1")])
    assert chosen.heard == ["upsert_all Node 1"]
    assert rest.heard == ["upsert_all Pod 1"]


def test_one_kind_alone_is_passed_on() -> None:
    sink = Remembers()
    only = OnlyKinds(sink, "Node")
    for kind in ("Node", "Pod"):
        only.replace(kind, [])
        only.upsert(kind, node("n1"))
        only.delete(kind, node("n1"))
    assert sink.heard == ["replace Node 0", "upsert Node", "delete Node"]


def test_one_kind_is_left_out() -> None:
    rest = Remembers()
    sink = WithoutKinds(rest, "NodeShard")
    for kind in ("NodeShard", "Node"):
        sink.replace(kind, [node("n1")])
        sink.upsert(kind, node("n1"))
        sink.delete(kind, node("n1"))
    assert rest.heard == ["replace Node 1", "upsert Node", "delete Node"]
