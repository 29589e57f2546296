"""Changes between two boards."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from volcano_py.ui.board.changes import changes
from volcano_py.ui.board.model import ClusterRow, JobRow, Row, Tables


def cluster(moment: float, **fields: Any) -> ClusterRow:
    none: dict[str, int] = {}
    of = {"nodes": 0, "running": 0, "waiting": 0, "reclaims": False, **fields}
    return ClusterRow(moment=moment, source="", allocatable=none, used=none, idle=none, promised=none, **of)


def test_the_moment_alone_is_no_change() -> None:
    assert changes({"cluster": {"cluster": cluster(1)}}, {"cluster": {"cluster": cluster(2)}}) == {}


def test_the_moment_goes_with_other_changes() -> None:
    found = changes({"cluster": {"cluster": cluster(1)}}, {"cluster": {"cluster": cluster(2, waiting=1)}})
    assert found["cluster"].set == {"cluster": cluster(2, waiting=1)}


ROWS = st.dictionaries(
    st.sampled_from("abcde"), st.builds(JobRow, key=st.just("k"), queue=st.sampled_from("qr"), state=st.just("Running"))
)


@given(ROWS, ROWS)
def test_a_board_with_its_changes_is_the_next_board(before: dict[str, Row], after: dict[str, Row]) -> None:
    old: Tables = {"jobs": before}
    found = changes(old, {"jobs": after})
    rows = dict(before)
    if "jobs" in found:
        for key in found["jobs"].gone:
            del rows[key]
        rows |= found["jobs"].set
    assert rows == after
    assert ("jobs" in found) == (before != after)
