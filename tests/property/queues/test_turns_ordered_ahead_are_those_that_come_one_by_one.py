"""Whatever the queues: when many jobs of a single pod wait, and all pods are alike, their turns are ordered ahead. The
pods get the same places, in the same order and with the same statuses and reports, as if each turn were taken by
itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.clusters import a_group, a_node, a_pod
from tests.property.queues.turns import DIVIDED_BY, LEAVES, Case, configured, decided, queues

OTHERS: Final = ((2, 2, 1), (1, 1, 2), (1, 1, 99), (2, 1, 1))
"""Pods, minMember and CPUs of each pod of jobs that are of another kind."""


@pytest.fixture(autouse=True, scope="module")
def _ordered_soon() -> Iterator[None]:
    """However few jobs wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("volcano_py.actions.turns.ahead._FEWEST", 1)
        yield


@st.composite
def backlogs(draw: st.DrawFn) -> Case:
    nodes = [a_node(f"n{index}", draw(st.integers(2, 60)), 100) for index in range(draw(st.integers(1, 3)))]
    running = [a_pod(f"r{index}", "", 1, on="n0") for index in range(draw(st.integers(0, 2)))]
    made: list[Any] = []
    for number, leaf in enumerate(draw(st.lists(st.sampled_from(LEAVES), min_size=8, max_size=48))):
        name = f"j{number:02d}"
        pods, minimum, cpu = draw(st.sampled_from([(1, 1, 1)] * 60 + [*OTHERS]))
        age, priority = draw(st.integers(0, 1)), draw(st.sampled_from([0, 0, 0, 1]))
        made.append(a_group(name, minimum, leaf, age=age))
        made.extend(a_pod(f"{name}-{index}", name, cpu, age=age, priority=priority) for index in range(pods))
    later = draw(st.integers(0, len(made)))
    return Case([*nodes, *running, *draw(queues()), *made[later:]], made[:later])


@pytest.mark.parametrize("plugins", DIVIDED_BY.values(), ids=DIVIDED_BY.keys())
@given(case=backlogs())
def test_it(plugins: str, case: Case) -> None:
    actions = "enqueue, allocate, backfill"
    ahead = decided(case, configured(actions, plugins))
    assert ahead == decided(case, configured(actions, f"{plugins}, {{name: one-by-one}}"))
