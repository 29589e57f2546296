"""Which victims make room on one node: of equal ones those whose turn comes first, wherever they are in the tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from volcano_py.framework.eviction.planning.choices import Atoms
from volcano_py.framework.eviction.planning.few_choices import FewChoices

TASK: Final[Any] = SimpleNamespace(
    task_class=SimpleNamespace(requested=np.array([0]), request=np.array([2], dtype=np.int64))
)


class Victim(NamedTuple):
    """A pod on one of two nodes; `turn`: which goes first."""

    turn: int
    node: int
    cpu: int = 1


def turns_of_those_that_go(victims: list[Victim]) -> list[int]:
    """For a task of two CPUs, where nodes have nothing free."""
    freed = np.zeros((len(victims), 2, 1), dtype=np.int64)
    freed[np.arange(len(victims)), [each.node for each in victims], 0] = [each.cpu for each in victims]
    whole = np.zeros(len(victims), dtype=np.bool_)
    atoms = Atoms(
        row=np.arange(len(victims)),
        job=np.arange(len(victims)),
        whole=whole,
        complete=whole,
        rank=np.zeros(len(victims), dtype=np.intp),
        priority=np.zeros(len(victims), dtype=np.int64),
        size=np.array([each.cpu / 8 for each in victims]),
        turn=np.array([each.turn for each in victims], dtype=np.int64),
        freed=freed,
    )
    few = FewChoices.__new__(FewChoices)
    nodes = SimpleNamespace(future_idle=lambda: np.zeros((2, 1), dtype=np.int64))
    attempt: Any = SimpleNamespace(ssn=SimpleNamespace(ledger=SimpleNamespace(nodes=nodes)))
    few._attempt, few._nodes, few._dims = attempt, np.arange(2), np.arange(1)
    found: list[int] = atoms.turn[few._on_a_node(atoms, np.arange(len(victims)), TASK)].tolist()
    return found


ON_BOTH: Final = [Victim(0, 1), Victim(1, 0), Victim(2, 0), Victim(3, 1), Victim(4, 1)]
"""Of node 1 the victims of turn 0 and 3 are enough, of node 0 those of 1 and 2."""


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 1, 3, 0]], ids=str)
def test_rows_do_not_matter(order: list[int]) -> None:
    """A record that is cut has its pods, and its nodes, on other rows."""
    assert turns_of_those_that_go([ON_BOTH[place] for place in order]) == [0, 3]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]], ids=str)
def test_the_node_with_the_earlier_turns_is_taken_among_equal_ones(order: list[int]) -> None:
    victims = [Victim(0, 1, cpu=2), Victim(1, 0, cpu=2), Victim(2, 0, cpu=2)]
    assert turns_of_those_that_go([victims[place] for place in order]) == [0]


def test_smaller_ones_go_before_earlier_turns() -> None:
    assert turns_of_those_that_go([Victim(0, 0, cpu=4), Victim(1, 1), Victim(2, 1)]) == [1, 2]


def test_all_go_where_no_node_would_have_room() -> None:
    assert sorted(turns_of_those_that_go([Victim(1, 0), Victim(0, 1)])) == [0, 1]
