"""Reductions column by column give what numpy gives row by row."""

from __future__ import annotations

import numpy as np
import pytest

from volcano_py.state.table.across import all_of, any_of, least_of

SHAPES = [(0, 2), (5, 1), (7, 2), (64, 5)]


@pytest.mark.parametrize("shape", [*SHAPES, (3, 0)])
def test_flags(shape: tuple[int, int]) -> None:
    flags = np.random.default_rng(1).random(shape) < 0.5
    assert all_of(flags).tolist() == flags.all(axis=1).tolist()
    assert any_of(flags).tolist() == flags.any(axis=1).tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_amounts(shape: tuple[int, int]) -> None:
    amounts = np.random.default_rng(2).integers(-9, 9, shape)
    assert least_of(amounts).tolist() == amounts.min(axis=1).tolist()
