"""Of a gang with minimums of roles, the tasks that these need are tried before all others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import Pod
from volcano_py.framework.roles import minimums_first, role_minimums


def opened_with(pods: list[Pod], min_member: int, **minimums: int) -> Opened:
    return open_session(node("n1"), pod_group("g", min_member=min_member, min_task_member=minimums), pods)


def members(*names: str, best_effort: tuple[str, ...] = (), on: str = "") -> list[Pod]:
    """Pods of the roles that their names begin with."""
    return [
        pod(name, group="g", role=name.partition("-")[0], cpu="" if name in best_effort else "1", on=on)
        for name in names
    ]


def first(opened: Opened, pods: list[Pod]) -> list[str]:
    rows = opened.rows(*(each.metadata.name for each in pods))
    ordered = minimums_first(opened.ssn, opened.job("g"), np.array(rows, dtype=np.intp))
    return [opened.ssn.task_info(row).ref.name for row in ordered.tolist()]


def test_what_roles_lack_goes_before_what_is_beyond_their_minimum() -> None:
    pods = members("a-0", "a-1", "a-2", "b-0", "b-1", "c-0")
    assert first(opened_with(pods, 4, a=2, b=1), pods) == ["a-0", "a-1", "b-0", "a-2", "b-1", "c-0"]


def test_tasks_with_a_place_count_towards_the_minimum_of_their_role() -> None:
    pods = members("a-1", "b-0")
    opened = opened_with([*members("a-0", on="n1"), *pods], 2, a=1, b=1)
    assert first(opened, pods) == ["b-0", "a-1"]


def test_those_of_a_role_that_ask_for_nothing_go_first() -> None:
    pods = members("a-0", "a-1", "b-0", best_effort=("a-1",))
    assert first(opened_with(pods, 2, a=1, b=1), pods) == ["a-1", "b-0", "a-0"]


@pytest.mark.parametrize("minimums", [{}, {"a": 1, "b": 2}])
def test_the_order_stays_where_minimums_do_not_hold(minimums: Mapping[str, int]) -> None:
    pods = members("a-0", "a-1", "b-0", "b-1")
    opened = opened_with(pods, 2, **minimums)
    assert not role_minimums(opened.job("g").info)
    assert first(opened, pods) == ["a-0", "a-1", "b-0", "b-1"]
