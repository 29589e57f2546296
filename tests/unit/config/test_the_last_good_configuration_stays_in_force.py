"""Hot reload from two origins that bring the same texts at different speeds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.config import Catalogue, Code, NoArguments, Outcome, OutcomeKind, Reloader, Severity

FILE, CONFIG_MAP = "/etc/volcano-scheduler.conf", "volcano-system/volcano-scheduler-configmap"

CATALOGUE = Catalogue(
    dict.fromkeys(
        ("gang", "predicates", "priority", "conformance", "overcommit", "drf", "proportion", "nodeorder"), NoArguments
    ),
    dict.fromkeys(("enqueue", "allocate", "backfill"), NoArguments),
)


def text(number: int) -> str:
    """Distinct valid configurations."""
    return f"actions: allocate{', allocate' * number}\ntiers: [{{plugins: [{{name: gang}}, {{name: predicates}}]}}]\n"


BROKEN = "actions: nothing\n"


@pytest.fixture
def reloader() -> Reloader:
    return Reloader(CATALOGUE)


def kinds(*outcomes: Outcome) -> list[str]:
    return [outcome.kind.value for outcome in outcomes]


def length(reloader: Reloader) -> int:
    """Distinguishes the configurations of `text`."""
    assert reloader.configuration is not None
    return len(reloader.configuration.actions) - 1


def test_there_is_no_configuration_before_the_first_valid_one(reloader: Reloader) -> None:
    assert reloader.configuration is None
    outcome = reloader.offer(BROKEN, FILE)
    assert (outcome.kind, outcome.configuration, outcome.valid) == (OutcomeKind.REJECTED, None, False)
    assert outcome.problems[0].code is Code.UNKNOWN_ACTION
    assert outcome.problems[0].path == "actions[0]"
    assert (outcome.origin, outcome.text) == (FILE, BROKEN)


def test_a_broken_edit_keeps_the_last_good_configuration(reloader: Reloader) -> None:
    good = reloader.offer(text(1), FILE)
    broken = reloader.offer(BROKEN, FILE)
    assert kinds(good, broken) == ["accepted", "rejected"]
    assert broken.configuration is good.configuration
    assert not reloader.valid


def test_mending_the_edit_makes_it_valid_again_even_by_going_back(reloader: Reloader) -> None:
    outcomes = [reloader.offer(content, FILE) for content in (text(1), BROKEN, text(1))]
    assert kinds(*outcomes) == ["accepted", "rejected", "accepted"]
    assert reloader.valid


def test_the_same_text_from_both_origins_reloads_once(reloader: Reloader) -> None:
    outcomes = [reloader.offer(text(1), FILE), reloader.offer(text(1), CONFIG_MAP), reloader.offer(text(1), FILE)]
    assert kinds(*outcomes) == ["accepted", "unchanged", "unchanged"]


def test_a_rejected_text_is_reported_once(reloader: Reloader) -> None:
    reloader.offer(text(1), FILE)
    outcomes = [reloader.offer(BROKEN, CONFIG_MAP), reloader.offer(BROKEN, FILE), reloader.offer(BROKEN, FILE)]
    assert kinds(*outcomes) == ["rejected", "unchanged", "unchanged"]
    assert [outcome.valid for outcome in outcomes] == [False, False, False]


def test_another_spelling_of_the_same_meaning_changes_nothing(reloader: Reloader) -> None:
    first = reloader.offer(text(1), FILE)
    respelt = reloader.offer(
        "# a comment\n" + text(1).replace("{name: gang}", "{enableJobOrder: true, name: gang}"), FILE
    )
    assert kinds(first, respelt) == ["accepted", "unchanged"]
    assert first.configuration is not None
    assert respelt.configuration is not None
    assert first.configuration.digest == respelt.configuration.digest


def test_the_newest_distinct_text_wins(reloader: Reloader) -> None:
    for number, origin in ((1, FILE), (2, CONFIG_MAP), (3, FILE)):
        assert reloader.offer(text(number), origin).kind is OutcomeKind.ACCEPTED
    assert length(reloader) == 3


def test_a_mounted_file_that_lags_behind_does_not_take_an_edit_back(reloader: Reloader) -> None:
    reloader.offer(text(1), FILE)
    reloader.offer(text(1), CONFIG_MAP)
    reloader.offer(text(2), CONFIG_MAP)
    reloader.offer(text(3), CONFIG_MAP)
    late = [reloader.offer(text(number), FILE) for number in (1, 2, 3)]
    assert kinds(*late) == ["unchanged", "unchanged", "unchanged"]
    assert length(reloader) == 3


def test_going_back_to_an_earlier_text_is_an_edit(reloader: Reloader) -> None:
    reloader.offer(text(1), FILE)
    outcomes = [reloader.offer(text(number), CONFIG_MAP) for number in (1, 2, 1)]
    assert kinds(*outcomes) == ["unchanged", "accepted", "accepted"]
    assert length(reloader) == 1
    late = [reloader.offer(text(number), FILE) for number in (2, 1)]
    assert kinds(*late) == ["unchanged", "unchanged"]
    assert length(reloader) == 1


def test_the_default_is_taken_only_when_asked_for_and_only_for_want_of_a_good_one() -> None:
    reloader = Reloader(CATALOGUE, use_default_on_invalid=True)
    first = reloader.offer(BROKEN, FILE)
    assert (first.kind, first.is_default, first.valid) == (OutcomeKind.REJECTED, True, False)
    assert first.configuration is not None
    assert first.configuration.actions == ("enqueue", "allocate", "backfill")
    good = reloader.offer(text(1), FILE)
    assert (good.kind, good.is_default, good.valid) == (OutcomeKind.ACCEPTED, False, True)
    broken = reloader.offer(BROKEN, FILE)
    assert (broken.is_default, broken.configuration) == (False, good.configuration)


def test_a_default_that_the_catalogue_does_not_know_is_not_taken() -> None:
    reloader = Reloader(Catalogue({}, {}), use_default_on_invalid=True)
    outcome = reloader.offer(BROKEN, FILE)
    assert (outcome.configuration, outcome.is_default) == (None, False)


def test_an_origin_that_cannot_be_read_is_a_problem_until_it_can(reloader: Reloader) -> None:
    reloader.offer(text(1), FILE)
    failed = reloader.offer_failure("no such file", FILE)
    assert (failed.kind, failed.valid) == (OutcomeKind.REJECTED, False)
    (problem,) = failed.problems
    assert (problem.severity, problem.code) == (Severity.ERROR, Code.UNAVAILABLE)
    assert problem.message == f"{FILE} cannot be read: no such file"
    assert failed.configuration is not None
    again = reloader.offer_failure("no such file", FILE)
    back = reloader.offer(text(1), FILE)
    assert kinds(again, back) == ["unchanged", "unchanged"]
    assert back.valid


def test_a_missing_file_at_start_takes_the_default_when_asked_for() -> None:
    assert Reloader(CATALOGUE).offer_failure("no such file", FILE).configuration is None
    outcome = Reloader(CATALOGUE, use_default_on_invalid=True).offer_failure("no such file", FILE)
    assert outcome.is_default


def test_strict_reloading_refuses_what_is_otherwise_a_warning() -> None:
    odd = text(1) + "tires: []\n"
    assert Reloader(CATALOGUE).offer(odd, FILE).kind is OutcomeKind.ACCEPTED
    assert Reloader(CATALOGUE, strict=True).offer(odd, FILE).kind is OutcomeKind.REJECTED


Edits = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@given(edits=Edits, data=st.data())
def test_a_follower_that_sees_the_same_edits_later_and_not_all_changes_nothing(
    edits: list[int], data: st.DataObject
) -> None:
    """Each edit reaches the ConfigMap's watch first; the file shows, at random times, an edit that is not newer."""
    reloader = Reloader(CATALOGUE)
    shown = 0
    for newest, edit in enumerate(edits):
        reloader.offer(text(edit), CONFIG_MAP)
        if data.draw(st.booleans()):
            shown = data.draw(st.integers(shown, newest))
            assert reloader.offer(text(edits[shown]), FILE).kind is OutcomeKind.UNCHANGED
        assert length(reloader) == edit


@given(st.lists(st.tuples(st.sampled_from([text(0), text(1), BROKEN, "["]), st.sampled_from([FILE, CONFIG_MAP]))))
def test_what_is_in_force_changes_only_when_something_is_accepted(offers: list[tuple[str, str]]) -> None:
    reloader = Reloader(CATALOGUE)
    for content, origin in offers:
        before = reloader.configuration
        outcome = reloader.offer(content, origin)
        assert outcome.configuration is reloader.configuration
        assert outcome.valid is reloader.valid
        if outcome.kind is not OutcomeKind.ACCEPTED:
            assert (reloader.configuration and reloader.configuration.digest) == (before and before.digest)


def test_the_history_stays_bounded(reloader: Reloader) -> None:
    for number in range(300):
        assert reloader.offer(text(number), CONFIG_MAP).kind is OutcomeKind.ACCEPTED
    assert len(reloader._history) <= 64
    assert length(reloader) == 299
