"""The arguments of rescheduling: what is read, what is reported, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from volcano_py.config.fields.reading import read_arguments
from volcano_py.plugins.rescheduling.arguments import ReschedulingArguments
from volcano_py.plugins.rescheduling.strategies import LowNodeUtilization, Percents

USEFUL = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 60}}


def read(params: Any, **arguments: Any) -> tuple[LowNodeUtilization | None, list[str]]:
    """The strategy with these parameters, and what is said of them."""
    written = {"strategies": [{"name": "lowNodeUtilization", "params": params}], **arguments}
    found, problems = read_arguments(ReschedulingArguments, written)
    return None if found is None else found.strategy, [problem.message for problem in problems]


def test_the_defaults_are_volcanos_and_move_nothing() -> None:
    found, problems = read_arguments(ReschedulingArguments, {})
    assert found == ReschedulingArguments()
    assert [problem.message for problem in problems] == [
        "no pod is ever moved: all targetThresholds are 100; set those of cpu or memory lower"
    ]
    assert ReschedulingArguments().interval == timedelta(minutes=5)
    assert ReschedulingArguments().strategy == LowNodeUtilization(Percents(100, 100), Percents(100, 100))


def test_percentages_are_integers_or_text_that_is_one() -> None:
    params = {"thresholds": {"cpu": 20, "memory": "30"}, "targetThresholds": {"cpu": "60 %", "memory": 70.0}}
    assert read(params) == (LowNodeUtilization(Percents(20, 30), Percents(60, 70)), [])


@pytest.mark.parametrize(
    ("params", "arguments", "said"),
    [
        ({**USEFUL, "numberOfNodes": 3}, {}, "strategies[0].params.numberOfNodes has no effect: one node below"),
        ({**USEFUL, "thresholdPriority": 1}, {}, "strategies[0].params.thresholdPriority has no effect"),
        ({**USEFUL, "thresholdPriorityClassName": "x"}, {}, "params.thresholdPriorityClassName has no effect"),
        ({**USEFUL, "nodeFit": False}, {}, "strategies[0].params.nodeFit has no effect: pods that fit no node"),
        ({**USEFUL, "nodefit": False}, {}, 'strategies[0].params: unknown key "nodefit", ignored; known: thresholds'),
        (
            {"thresholds": {"cpu": 20, "pods": 20}, "targetThresholds": {"cpu": 60}},
            {},
            "strategies[0].params.thresholds.pods has no effect: it is not measured",
        ),
        (
            {"thresholds": {"cpu": 20, "gpu": 20}, "targetThresholds": {"cpu": 60}},
            {},
            'strategies[0].params.thresholds: unknown key "gpu", ignored; known: cpu, memory',
        ),
        (USEFUL, {"metricsPeriod": "10m"}, "has no effect: over which time load is averaged is up to the source"),
        (None, {}, "no pod is ever moved: all targetThresholds are 100"),
        ({"thresholds": {"cpu": 20}}, {}, "no pod is ever moved: all targetThresholds are 100"),
        ({**USEFUL, "thresholds": {"cpu": 0}}, {}, "no pod is ever moved: no load is below a threshold of 0"),
        (
            {"thresholds": {"cpu": 60}, "targetThresholds": {"cpu": 20}},
            {},
            "targetThresholds.cpu (20) is below thresholds.cpu (60)",
        ),
    ],
)
def test_what_has_no_effect_is_said_and_the_rest_is_used(params: Any, arguments: dict[str, Any], said: str) -> None:
    strategy, (message,) = read(params, **arguments)
    assert strategy is not None
    assert said in message


def test_strategies_that_are_unknown_or_repeated_are_reported() -> None:
    names = ["duplicates", "lowNodeUtilization", "lowNodeUtilization"]
    written = {"strategies": [{"name": name, "params": USEFUL} for name in names]}
    found, problems = read_arguments(ReschedulingArguments, written)
    assert found is not None
    assert found.strategy == LowNodeUtilization(Percents(20, 100), Percents(60, 100))
    assert [problem.message for problem in problems] == [
        'strategies[0]: unknown strategy "duplicates", ignored; known: lowNodeUtilization',
        "strategies[2] is ignored: lowNodeUtilization is listed before; remove one of them",
    ]
    found, problems = read_arguments(ReschedulingArguments, {"strategies": [{"name": "duplicates"}]})
    assert found is not None
    assert found.strategy is None
    assert problems[-1].message == "no pod is ever moved: the list has no strategy lowNodeUtilization; add it"


@pytest.mark.parametrize(
    ("strategies", "said"),
    [
        ("lowNodeUtilization", "must be a list of strategies, each with `name:`"),
        (["lowNodeUtilization"], "strategies[0] is none"),
        ([{"params": {}}], "strategies[0] is none"),
        ([{"name": "lowNodeUtilization", "params": 7}], 'strategies[0].params is "7"'),
        ([{"name": "lowNodeUtilization", "params": {"thresholds": [1]}}], "strategies[0].params.thresholds is"),
        *(
            (
                [{"name": "lowNodeUtilization", "params": {"thresholds": {"cpu": value}}}],
                "must have percentages from 0 to 100; strategies[0].params.thresholds.cpu is",
            )
            for value in (-1, 101, 2.5, True, None, "x", "1000", "²")
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(strategies: Any, said: str) -> None:
    found, problems = read_arguments(ReschedulingArguments, {"strategies": strategies})
    assert found is None
    assert said in problems[0].message


def test_a_configuration_may_be_written_as_it_was_read() -> None:
    strategy = LowNodeUtilization(Percents(1, 2), Percents(3, 4))
    written = ReschedulingArguments(strategy=strategy).model_dump(mode="json", by_alias=True)
    assert read(written["strategy"][0]["params"])[0] == strategy


@pytest.mark.parametrize("nothing", [None, []])
def test_a_list_without_entries_moves_nothing_either(nothing: object) -> None:
    found, (problem,) = read_arguments(ReschedulingArguments, {"strategies": nothing})
    assert found is not None
    assert found.strategy is None
    assert problem.message == "no pod is ever moved: the list has no strategy lowNodeUtilization; add it"


def test_runs_are_a_second_apart_at_least() -> None:
    """Each is a cycle, also when nothing has changed."""
    found, problems = read_arguments(ReschedulingArguments, {"interval": "1ms"})
    assert found is not None
    assert found.interval == timedelta(seconds=1)
    assert "is shorter than 1s, so it counts as 1s" in [problem.message for problem in problems]
