"""SubjectAccessReviews: what is asked, how long an answer counts, and that no answer is a no."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.unit.ui.users import ALL, Reviewer, of_namespace
from volcano_py.ui.rights.reviewed import (
    ALLOWED_FOR,
    DENIED_FOR,
    MOST_USERS,
    UNANSWERED_FOR,
    ReviewedRights,
    as_json,
)
from volcano_py.ui.rights.sight import EVENTS, EVERYTHING, JOBS, NODES, POD_GROUPS, PODS, QUEUES, Sight, User

ANN = User("ann", "7", ("people",), (("scopes", ("a", "b")),))
SPACES = frozenset({"team", "others", "third"})


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def rights(reviewer: Reviewer, clock: Clock | None = None) -> ReviewedRights:
    return ReviewedRights(reviewer.client, "volcano-system", clock or Clock())


async def test_who_may_list_everything_sees_everything_and_is_not_asked_about_namespaces() -> None:
    reviewer = Reviewer(rights={"ann": ALL})
    sight = await rights(reviewer).sight(ANN, SPACES)
    assert sight.is_whole
    assert sight.hidden(SPACES) == ()
    assert {namespace for _, _, namespace in reviewer.asked} == {"", "volcano-system"}


async def test_a_user_of_one_namespace_sees_that_one() -> None:
    reviewer = Reviewer(rights={"ann": of_namespace("team")})
    sight = await rights(reviewer).sight(ANN, SPACES)
    assert [name for name in sorted(SPACES) if sight.may(POD_GROUPS, name)] == ["team"]
    assert all(sight.may(resource, "team") for resource in (PODS, JOBS, EVENTS))
    assert not any(sight.may(resource) for resource in (PODS, POD_GROUPS, QUEUES, NODES))
    assert "2 namespaces are not yours to see: you may not list PodGroups and pods there" in sight.hidden(SPACES)
    # Of namespaces that are not the user's, only that is asked.
    assert {resource for _, resource, namespace in reviewer.asked if namespace == "others"} == {POD_GROUPS}


async def test_a_user_without_rights_sees_nothing() -> None:
    sight = await rights(Reviewer()).sight(ANN, SPACES)
    assert (sight.everywhere, {*map(len, sight.inside.values())}, sight.unanswered) == (frozenset(), {0}, False)


async def test_without_an_answer_nothing_is_shown_until_there_is_one() -> None:
    reviewer, clock = Reviewer(rights={"ann": ALL}), Clock()
    reviewer.is_silent = True
    asked = rights(reviewer, clock)
    sight = await asked.sight(ANN, SPACES)
    assert (sight.everywhere, sight.unanswered) == (frozenset(), True)
    assert "What you may see could not be checked whole; what is in doubt is hidden" in sight.hidden(SPACES)
    reviewer.is_silent = False
    assert not (await asked.sight(ANN, SPACES)).is_whole
    clock.now += UNANSWERED_FOR
    assert (await asked.sight(ANN, SPACES)).is_whole


async def test_a_yes_counts_for_half_a_minute_and_a_no_for_two() -> None:
    reviewer, clock = Reviewer(rights={"ann": {(NODES, "")}}), Clock()
    asked = rights(reviewer, clock)
    assert (await asked.sight(ANN, frozenset())).may(NODES)
    reviewer.rights["ann"] = {(QUEUES, "")}
    clock.now += ALLOWED_FOR - 1
    assert (await asked.sight(ANN, frozenset())).may(NODES)
    clock.now += 1
    changed = await asked.sight(ANN, frozenset())
    assert (changed.may(NODES), changed.may(QUEUES)) == (False, False)
    clock.now += DENIED_FOR - ALLOWED_FOR
    assert (await asked.sight(ANN, frozenset())).may(QUEUES)


async def test_answers_are_kept_and_a_new_namespace_alone_is_asked_about() -> None:
    reviewer = Reviewer(rights={"ann": of_namespace("team") | of_namespace("new")})
    asked = rights(reviewer)
    await asked.sight(ANN, SPACES)
    before = len(reviewer.asked)
    await asked.sight(ANN, SPACES)
    assert len(reviewer.asked) == before
    assert (await asked.sight(ANN, SPACES | {"new"})).may(PODS, "new")
    assert Counter(namespace for _, _, namespace in reviewer.asked[before:]) == {"new": 4}


async def test_answers_are_those_of_the_user_and_of_so_many_users() -> None:
    reviewer = Reviewer(rights={"ann": ALL})
    asked = rights(reviewer)
    assert not (await asked.sight(User("ben"), SPACES)).may(NODES)
    assert (await asked.sight(ANN, SPACES)).may(NODES)
    for number in range(MOST_USERS):
        await asked.sight(User(f"user-{number}"), frozenset())
    before = len(reviewer.asked)
    await asked.sight(ANN, SPACES)
    assert len(reviewer.asked) > before, "the answers about ann are no longer kept"


async def test_many_namespaces_are_asked_about_some_at_a_time() -> None:
    reviewer = Reviewer()
    await rights(reviewer).sight(ANN, frozenset(f"team-{number}" for number in range(200)))
    assert 1 < reviewer.most_at_once <= 16


def test_all_that_is_known_of_the_user_is_in_the_question() -> None:
    assert as_json(ANN) == {"user": "ann", "uid": "7", "groups": ["people"], "extra": {"scopes": ["a", "b"]}}


@pytest.mark.parametrize("missing", sorted(EVERYTHING.everywhere))
def test_whatever_is_missing_is_said(missing: str) -> None:
    sight = Sight(EVERYTHING.everywhere - {missing}, {missing: frozenset()} if missing != JOBS else {})
    assert not sight.is_whole
    assert missing == JOBS or sight.hidden(SPACES)
