"""Merge patches: what they change, and that nothing is left over."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.conftest import merge
from volcano_py.api.objects import ApiObject
from volcano_py.jobs.patches import merge_patch


class State(ApiObject, frozen=True):
    """Something with parts of every shape."""

    phase: str = ""
    counts: dict[str, dict[str, int]] = {}
    names: list[str] = []


def test_what_is_gone_is_taken_away_however_deep_it_was() -> None:
    before = State(phase="A", counts={"x": {"Pending": 2}, "y": {"Pending": 1}}, names=["a", "b"])
    after = State(counts={"x": {"Running": 2}}, names=["b"])
    assert merge_patch(before, after) == {
        "phase": None, "counts": {"x": {"Running": 2, "Pending": None}, "y": None}, "names": ["b"],
    }  # fmt: skip


def test_nothing_is_written_when_nothing_differs() -> None:
    assert merge_patch(State(phase="A", names=["a"]), State(phase="A", names=["a"])) == {}


STATES = st.builds(
    State,
    phase=st.sampled_from(["", "A", "B"]),
    counts=st.dictionaries(st.sampled_from("xy"), st.dictionaries(st.sampled_from("pq"), st.integers(0, 2))),
    names=st.lists(st.sampled_from("ab"), max_size=2),
)


@given(STATES, STATES)
def test_an_api_server_that_applies_the_patch_has_the_new_state(before: State, after: State) -> None:
    applied: Any = merge(msgspec.to_builtins(before), merge_patch(before, after))
    assert msgspec.convert(applied, State) == after
