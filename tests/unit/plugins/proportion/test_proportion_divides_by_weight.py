"""Water filling: what each queue deserves of one resource, and of all together."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from volcano_py.plugins.proportion.water_filling import divide, divide_one

Queues = list[tuple[int, int, int]]
"""(weight, guarantee, cap) of each."""


def shares(total: int, queues: Queues) -> list[Fraction]:
    weights, guarantees, caps = zip(*queues, strict=True)
    return [Fraction(*ratio) for ratio in divide_one(total, weights, guarantees, caps)]


def queues(most: int = 6, amounts: int = 60) -> st.SearchStrategy[Queues]:
    """Queues whose cap covers their guarantee, some guaranteed nothing, some asking for nothing."""
    one = st.tuples(
        st.sampled_from([1, 2, 3, 10, 10**7]),
        st.one_of(st.just(0), st.integers(0, amounts // 2)),
        st.integers(0, amounts),
    )
    return st.lists(one.map(lambda q: (q[0], q[1], max(q[1], q[2]))), min_size=1, max_size=most)


@pytest.mark.parametrize(
    ("total", "queues", "expected"),
    [
        (16, [(1, 0, 15), (3, 0, 12)], [4, 12]),
        (16, [(1, 0, 15), (3, 0, 6)], [10, 6]),
        (10, [(1, 4, 4), (1, 0, 6)], [4, 6]),
        (12, [(1, 0, 12), (1, 0, 12), (1, 0, 3)], ["9/2", "9/2", 3]),
        (16, [(1, 0, 16), (1, 0, 16), (1, 0, 16)], ["16/3", "16/3", "16/3"]),
        (20, [(1, 8, 20), (1, 0, 4), (1, 0, 20)], ["26/3", 4, "22/3"]),
        (12, [(1, 6, 6), (1, 0, 6), (1, 0, 6)], [6, 3, 3]),
        (10, [(1, 8, 10), (1, 0, 2), (1, 0, 2)], [8, 1, 1]),
        (10, [(10**7, 0, 10), (1, 0, 10)], ["100000000/10000001", "10/10000001"]),
        (10, [(1, 7, 7), (1, 7, 7)], [7, 7]),
        (10, [(1, 12, 12), (1, 0, 5)], [12, 0]),
        (0, [(1, 0, 5), (2, 0, 0)], [0, 0]),
        (10, [(1, 0, 0)], [0]),
    ],
    ids=[
        "by weight",
        "what one does not ask for goes to the other",
        "a guarantee above what is asked for",
        "three with one small",
        "thirds",
        "a guarantee above the first portion is kept and filled further",
        "others sink below their first portion for a guarantee",
        "others sink below their cap for a guarantee",
        "weights far apart",
        "guarantees that do not fit",
        "a guarantee above the cluster",
        "an empty cluster",
        "no queue asks",
    ],
)
def test_examples(total: int, queues: Queues, expected: list[int | str]) -> None:
    assert shares(total, queues) == [Fraction(amount) for amount in expected]


@given(st.integers(0, 100), queues())
@example(100, [(10**7, 0, 60), (1, 0, 60)])
@example(10, [(1, 8, 10), (1, 0, 2), (1, 0, 2)])
def test_the_cluster_is_used_up_and_never_exceeded(total: int, queues: Queues) -> None:
    """Or every queue has all it may have, or the guarantees alone do not fit."""
    deserved, guaranteed = shares(total, queues), sum(guarantee for _, guarantee, _ in queues)
    assert sum(deserved) == max(guaranteed, min(total, sum(cap for *_, cap in queues)))


@given(st.integers(0, 100), queues())
def test_every_queue_has_its_guarantee_and_none_more_than_its_ceiling(total: int, queues: Queues) -> None:
    for amount, (_, guarantee, cap) in zip(shares(total, queues), queues, strict=True):
        assert guarantee <= amount <= cap


@given(st.integers(0, 100), queues(), st.data())
def test_the_order_of_queues_does_not_matter(total: int, queues: Queues, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(queues))))
    shuffled = shares(total, [queues[i] for i in order])
    straight = shares(total, queues)
    assert shuffled == [straight[i] for i in order]


@given(st.integers(0, 100), queues(), st.data())
def test_more_weight_never_means_less(total: int, queues: Queues, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(queues) - 1))
    weight, guarantee, cap = queues[position]
    heavier = [*queues]
    heavier[position] = (weight + data.draw(st.integers(1, 20)), guarantee, cap)
    assert shares(total, heavier)[position] >= shares(total, queues)[position]


@given(st.integers(0, 100), queues())
def test_without_guarantees_all_that_want_more_stand_equally_high(total: int, queues: Queues) -> None:
    queues = [(weight, 0, cap) for weight, _, cap in queues]
    deserved = shares(total, queues)
    heights = [amount / weight for amount, (weight, _, _) in zip(deserved, queues, strict=True)]
    highest = max(heights)
    for amount, height, (_, _, cap) in zip(deserved, heights, queues, strict=True):
        assert amount == cap or height == highest


@given(st.integers(1, 100), queues())
@example(6, [(1, 0, 0), (2, 0, 4), (1, 2, 3)])
def test_it_is_where_volcanos_rounds_lead_to(total: int, queues: Queues) -> None:
    """Round after round each queue gets its weight's part of what remains, within its bounds."""
    amounts = [0.0] * len(queues)
    remaining = float(total)
    wanting = list(range(len(queues)))
    for _ in range(80):
        width = sum(queues[i][0] for i in wanting)
        if not width or remaining < 1e-9:
            break
        before = sum(amounts)
        for i in wanting:
            weight, guarantee, cap = queues[i]
            amounts[i] = max(min(amounts[i] + remaining * weight / width, cap), guarantee)
        remaining = max(remaining - (sum(amounts) - before), 0.0)
        wanting = [i for i in wanting if amounts[i] < queues[i][2]]
    if sum(amounts) <= total + 1e-6:  # else his rounds hand out more than there is
        assert [float(amount) for amount in shares(total, queues)] == pytest.approx(amounts, abs=1e-5)


def test_resources_are_divided_each_for_itself_and_rounded_down_only_for_comparisons() -> None:
    total = np.array([16_000, 2**36, 8], dtype=np.int64)
    caps = np.array([[15_000, 2**36, 8], [12_000, 2**33, 8], [0, 0, 8]], dtype=np.int64)
    division = divide(total, [1, 3, 1], np.zeros_like(caps), caps)
    assert division.whole.tolist() == [[4_000, 2**36 - 2**33, 1], [12_000, 2**33, 4], [0, 0, 1]]
    assert division.exact[:, 2].tolist() == [8 / 5, 24 / 5, 8 / 5]


@given(st.integers(0, 2**50), queues(most=5, amounts=2**50))
def test_large_amounts_are_exact(total: int, queues: Queues) -> None:
    weights = [weight for weight, *_ in queues]
    bounds = np.array([[guarantee, cap] for _, guarantee, cap in queues], dtype=np.int64)
    division = divide(np.array([total]), weights, bounds[:, :1], bounds[:, 1:])
    spare = max(total, int(bounds[:, 0].sum())) - int(division.whole.sum())
    assert spare >= 0
    assert spare < len(queues) or (division.whole == bounds[:, 1:]).all()


def test_no_queue_at_all_is_fine() -> None:
    nothing = np.zeros((0, 2), dtype=np.int64)
    assert divide(np.array([5, 5]), [], nothing, nothing).whole.shape == (0, 2)
