"""Whatever is logged or dumped becomes valid JSON, in pieces where it is large."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from volcano_py.api.objects import ObjectMeta, Pod
from volcano_py.api.reasons import Reason
from volcano_py.observe.encoding import json_chunks, to_json


@dataclass(frozen=True, slots=True)
class Point:
    x: int


class Place(msgspec.Struct, frozen=True):
    at: Point
    free: NDArray[np.int64]
    tags: frozenset[str] = frozenset()
    most: int = 0
    _kept: int = 0


class Nasty:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(1), {"x": 1}),
        (
            Place(Point(1), np.arange(2), frozenset({"y", "x"})),
            {"at": {"x": 1}, "free": [0, 1], "tags": ["x", "y"], "most": 0},
        ),
        (Reason.NODES_REFUSE, "NodesRefuse"),
        (Pod(metadata=ObjectMeta(name="a", namespace="ml")), {"metadata": {"name": "a", "namespace": "ml"}}),
        ({"n": np.int64(3), "a": np.arange(3)}, {"n": 3, "a": [0, 1, 2]}),
        (MappingProxyType({"a": frozenset({"y", "x"})}), {"a": ["x", "y"]}),
        ({1: "one", None: 2}, {"1": "one", "null": 2}),
        (float("nan"), None),
        (ValueError("x"), "ValueError('x')"),
        ({"big": 2**70, "not": float("inf")}, {"big": str(2**70), "not": None}),
        ("lone \ud800 surrogate", "lone \\ud800 surrogate"),
        ({("a", 1): [2**70]}, {"('a', 1)": [str(2**70)]}),
        (
            {"pod": Pod(metadata=ObjectMeta(name="a")), "big": 2**70},
            {"pod": {"metadata": {"name": "a"}}, "big": str(2**70)},
        ),
        (Nasty(), "<Nasty whose repr failed: RuntimeError>"),
        ({"n": Nasty(), "big": 2**70}, {"n": "<Nasty whose repr failed: RuntimeError>", "big": str(2**70)}),
        ({"flag": True, "none": None, "big": {2**70}}, {"flag": True, "none": None, "big": [str(2**70)]}),
    ],
)
def test_values_of_all_kinds(value: object, expected: object) -> None:
    assert json.loads(to_json(value)) == expected


def test_circles_and_depths_end() -> None:
    circle: dict[str, Any] = {"name": "a"}
    circle["self"] = [circle, circle]
    assert json.loads(to_json(circle)) == {"name": "a", "self": ["...", "..."]}
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert json.loads(to_json(deep))


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.integers() | st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_ODD)
def test_nothing_that_python_can_hold_stops_a_line(value: object) -> None:
    line = to_json(value)
    json.loads(line)
    assert b"\n" not in line


@given(st.dictionaries(st.text(), st.lists(st.integers(0, 9)) | st.dictionaries(st.text(), st.booleans()) | st.text()))
def test_pieces_make_the_same_document(document: dict[str, object]) -> None:
    assert json.loads(b"".join(json_chunks(document))) == document


def test_long_sections_come_in_many_pieces() -> None:
    document = {"tasks": [{"name": f"t{n}"} for n in range(1000)], "nodes": {f"n{n}": n for n in range(1000)}, "x": 1}
    chunks = list(json_chunks(document))
    assert json.loads(b"".join(chunks)) == document
    assert len(chunks) > 10
    assert max(len(chunk) for chunk in chunks) < 10_000


def test_a_document_may_be_a_list_or_empty() -> None:
    assert list(json_chunks([1, 2])) == [b"[1,2]"]
    assert b"".join(json_chunks({})) == b"{}"
    assert b"".join(json_chunks({"a": [], "b": {}})) == b'{"a":[],"b":{}}'
