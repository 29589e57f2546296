"""Members of one group stand side by side in a sorted array."""

from __future__ import annotations

import numpy as np
import pytest

from volcano_py.state.table.runs import ranks_in_runs, starts_of_runs


@pytest.mark.parametrize(
    ("groups", "starts", "ranks"),
    [
        ([], [], []),
        ([7], [0], [0]),
        ([1, 1, 1], [0], [0, 1, 2]),
        ([0, 0, 3, 4, 4, 4], [0, 2, 3], [0, 1, 0, 0, 1, 2]),
    ],
)
def test_each_run_starts_anew(groups: list[int], starts: list[int], ranks: list[int]) -> None:
    found = np.array(groups, dtype=np.intp)
    assert starts_of_runs(found).tolist() == starts
    assert ranks_in_runs(found).tolist() == ranks
