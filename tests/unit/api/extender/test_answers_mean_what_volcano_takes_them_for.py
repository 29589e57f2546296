"""What is absent, null or of another spelling in an answer."""

from __future__ import annotations

import math

import pytest

from volcano_py.api.extender.answers import PredicateAnswer, PrioritizeAnswer, VictimsAnswer


@pytest.mark.parametrize(("code", "is_resolvable"), [(0, False), (1, False), (2, True), (3, False), (None, False)])
def test_only_code_2_may_end_when_pods_leave(code: int | None, is_resolvable: bool) -> None:
    assert PredicateAnswer("no", code).is_resolvable is is_resolvable


def test_a_node_without_a_score_has_none() -> None:
    assert PrioritizeAnswer({"a": 2.5}).score("b") == 0
    assert PrioritizeAnswer(None).score("a") == 0


@pytest.mark.parametrize("score", [math.inf, -math.inf, math.nan, 1e300])
def test_every_score_can_be_added(score: float) -> None:
    assert abs(PrioritizeAnswer({"a": score}).score("a")) <= 1e12


def test_victims_are_known_by_their_uids_alone() -> None:
    assert VictimsAnswer(1, [{"UID": "a"}, {"uid": "b"}, {"Name": "c"}, {"UID": 7}, {"UID": ""}]).uids() == {"a", "b"}
    assert VictimsAnswer(1, None).uids() == frozenset()
