"""The arguments: what is understood, what is warned about, and that no text has a login."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.support.extender import Scripted, configuration, simulation
from tests.support.registries import checked_registry
from tests.support.sessions import gang, node
from volcano_py.config import format_problems, parse_configuration
from volcano_py.config.metrics import without_secrets
from volcano_py.config.parse import ParseResult
from volcano_py.plugins.extender.arguments import ExtenderArguments
from volcano_py.record.recorder import without_metrics

LOGIN = "https://reader:hunter2@extender.ops/v1"


def parsed(arguments: dict[str, Any], *verbs: str, actions: str = "enqueue, allocate, backfill") -> ParseResult:
    return parse_configuration(configuration(verbs, actions=actions, **arguments), checked_registry().catalogue())


def given(result: ParseResult) -> ExtenderArguments:
    assert result.config is not None
    [entry] = [entry for entry in result.config.plugins() if entry.name == "extender"]
    assert isinstance(entry.arguments, ExtenderArguments)
    return entry.arguments


@pytest.mark.parametrize(
    ("written", "seconds", "is_warned"),
    [("250ms", 0.25, False), ("2s", 2, False), ("soon", 1, True), ("-1s", 1, True), (0, 1, True), ("5", 1, True)],
)
def test_a_timeout_that_cannot_be_read_is_a_second(written: object, seconds: float, is_warned: bool) -> None:
    result = parsed({"extender.httpTimeout": written})
    assert given(result).timeout == timedelta(seconds=seconds)
    assert any("extender.httpTimeout" in problem.path for problem in result.problems) is is_warned


def test_the_budget_is_bounded_far_below_a_cycle_that_hangs() -> None:
    result = parsed({"extender.cycleBudget": "10m"})
    assert given(result).budget == timedelta(seconds=60)
    assert any("counts as 60s" in problem.message for problem in result.problems)


@pytest.mark.parametrize("address", ["", "reader:hunter2@extender", "ftp://reader:hunter2@extender"])
def test_an_address_that_is_none_is_warned_about_and_not_shown(address: str) -> None:
    result = parsed({"extender.urlPrefix": address})
    [problem] = [each for each in result.problems if "urlPrefix" in each.path]
    assert "is no http or https URL" in problem.message
    assert "hunter2" not in problem.message


def test_a_login_is_in_no_copy_of_the_configuration() -> None:
    text = configuration(["predicate"], **{"extender.urlPrefix": LOGIN, "extender.httpTimeout": "-1s"})
    result = parse_configuration(text, checked_registry().catalogue())
    arguments = given(result)
    assert arguments.url == LOGIN
    shown = (
        repr(arguments),
        str(arguments.model_dump()),
        arguments.model_dump_json(),
        format_problems(result.problems, text),
        without_secrets(text),
        without_metrics(text),
    )
    assert not any("hunter2" in each for each in shown)
    other = parse_configuration(text.replace("hunter2", "hunter3"), checked_registry().catalogue())
    assert result.config is not None
    assert other.config is not None
    assert result.config.digest == other.config.digest, "a password could be guessed from it"


def test_points_of_verbs_that_are_not_configured_are_not_used() -> None:
    unused = ExtenderArguments.model_validate({"extender.predicateVerb": "p"}).unused_points()
    assert {"job_ready", "overused", "preemptable", "batch_node_order", "on_allocate"} <= unused
    assert not {"predicate", "late_predicate"} & unused


def test_an_extender_without_a_verb_for_victims_starts_no_eviction() -> None:
    """With nothing else that names victims, the configuration is told so."""
    messages = [problem.message for problem in parsed({}, "predicate", actions="allocate, reclaim").problems]
    assert not any("reclaim will never do anything" in message for message in messages), "gang names pods"
    text = "actions: allocate, reclaim\ntiers:\n- plugins: [{name: predicates}, {name: extender, arguments: ARGS}]\n"
    for arguments, is_told in (("{}", True), ("{extender.reclaimableVerb: r}", True)):
        result = parse_configuration(text.replace("ARGS", arguments), checked_registry().catalogue())
        told = " ".join(problem.message for problem in result.problems)
        assert ("reclaim will never do anything: no plugin reports which jobs are starving" in told) is is_told
        assert ("names pods that may be reclaimed" in told) is (arguments == "{}")


def test_the_scheduler_sends_the_login() -> None:
    client = Scripted({"predicate": {"status": ""}})
    simulation(
        [node("a"), *gang("train", cpu="1")], configuration(["predicate"], **{"extender.urlPrefix": LOGIN}), client
    ).run()
    assert client.urls == {LOGIN}
