"""The arguments of resource-strategy-fit: three spellings of scarce resource avoidance mean one thing."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.config.fields.reading import read_arguments
from volcano_py.config.text.problems import Problem, Severity
from volcano_py.plugins.amounts.reserve import Ratio
from volcano_py.plugins.resource_strategy_fit.arguments import ResourceStrategyFitArguments
from volcano_py.plugins.resource_strategy_fit.settings import Retention, Scoring, Strategy

GPU, T4, A10, V100 = "nvidia.com/gpu", "nvidia.com/t4", "nvidia.com/a10", "nvidia.com/v100-sxm2-16gb"
MOST, LEAST = Scoring.MOST_ALLOCATED, Scoring.LEAST_ALLOCATED

Values = dict[str, Any]


def read(values: Values) -> ResourceStrategyFitArguments:
    """Arguments that nothing is wrong with."""
    arguments, problems = read_arguments(ResourceStrategyFitArguments, values, strict=True)
    assert arguments is not None
    assert problems == ()
    return arguments


def with_remarks(values: Values) -> tuple[ResourceStrategyFitArguments, list[str]]:
    arguments, problems = read_arguments(ResourceStrategyFitArguments, values)
    assert arguments is not None, problems
    return arguments, [f"{problem.path}: {problem.message}" for problem in problems]


def refused(values: Values) -> Problem:
    arguments, problems = read_arguments(ResourceStrategyFitArguments, values)
    assert arguments is None
    (error,) = (problem for problem in problems if problem.severity is Severity.ERROR)
    return error


# -- strategies ---------------------------------------------------------------------------------------------------


def test_cpu_and_memory_are_spread_with_weight_10_by_default() -> None:
    arguments = read({})
    strategies = arguments.strategies()
    assert arguments.weight == 10
    assert strategies.of("cpu") == strategies.of("memory") == Strategy(LEAST, 1)
    assert strategies.of(GPU) is None
    assert arguments.retention() is None
    assert [*arguments.reserves()] == []


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(
            {"resources": {GPU: {"type": "MostAllocated", "weight": 2}, "cpu": {"type": "LeastAllocated"}}}, id="nested"
        ),
        pytest.param(
            {
                f"resources.{GPU}.type": "MostAllocated",
                f"resources.{GPU}.weight": 2,
                "resources.cpu.type": "LeastAllocated",
            },
            id="flat",
        ),
        pytest.param(
            {f"resources.{GPU}": {"type": "MostAllocated", "weight": 2}, "resources.cpu.weight": 1}, id="mixed"
        ),
    ],
)
def test_strategies_are_written_flat_or_nested_and_replace_the_default(values: Values) -> None:
    strategies = read(values).strategies()
    assert strategies.of(GPU) == Strategy(MOST, 2)
    assert strategies.of("cpu") == Strategy(LEAST, 1)
    assert strategies.of("memory") is None


def test_a_name_may_end_in_a_star_and_the_longest_beginning_wins_after_the_exact_name() -> None:
    strategies = read(
        {
            "resources": {
                "nvidia.com/*": {"type": "MostAllocated", "weight": 2},
                "nvidia.com/mig-*": {"type": "MostAllocated", "weight": 3},
                "nvidia.com/mig-1g.5gb": {"type": "LeastAllocated", "weight": 4},
            }
        }
    ).strategies()
    assert strategies.of(GPU) == Strategy(MOST, 2)
    assert strategies.of("nvidia.com/mig-2g.10gb") == Strategy(MOST, 3)
    assert strategies.of("nvidia.com/mig-1g.5gb") == Strategy(LEAST, 4)
    assert strategies.of("amd.com/gpu") is None


@pytest.mark.parametrize("name", ["*", "*.com/gpu", "nvidia.com/*/gpu", "nvidia.com/**"])
def test_a_star_anywhere_else_means_nothing_and_is_reported(name: str) -> None:
    arguments, remarks = with_remarks({"resources": {name: {"weight": 5}, "cpu": {"weight": 2}}})
    assert arguments.strategies().of(GPU) is None
    assert arguments.strategies().of(name) is None
    assert arguments.strategies().of("cpu") == Strategy(LEAST, 2)
    (remark,) = remarks
    assert f"resources.{name} has no effect" in remark


def test_weights_out_of_range_are_replaced_with_a_warning() -> None:
    values = {"resourceStrategyFitWeight": -1, "resources": {"cpu": {"weight": 0}, "memory": {"weight": -2}}}
    arguments, remarks = with_remarks(values)
    assert arguments.weight == 10
    assert arguments.strategies().of("cpu") == arguments.strategies().of("memory") == Strategy(LEAST, 1)
    assert remarks == [
        "resourceStrategyFitWeight: must be at least 0, found -1; 10 is used instead",
        "resources.cpu.weight: must be at least 1, found 0; 1 is used instead",
        "resources.memory.weight: must be at least 1, found -2; 1 is used instead",
    ]


@pytest.mark.parametrize(
    ("values", "path", "reported"),
    [
        pytest.param(
            {"resources": {"cpu": {"type": "Nonsense"}}},
            "resources.cpu.type",
            "must be one of 'MostAllocated' or 'LeastAllocated', found \"Nonsense\"",
            id="strategy type",
        ),
        pytest.param(
            {"resourceStrategyFitWeight": "much"}, "resourceStrategyFitWeight", 'found "much"', id="plugin weight"
        ),
        pytest.param({f"resources.{GPU}.weight": "two"}, f"resources.{GPU}.weight", 'found "two"', id="weight"),
        pytest.param({"resources.cpu.weight": 2**31}, "resources.cpu.weight", "found 2147483648", id="too heavy"),
        pytest.param({"resources": ["cpu"]}, "resources", "found a list", id="a list of resources"),
        pytest.param(
            {"sra": {"policy": "avoid"}}, "sra.policy", "must be one of 'retention' or 'proportional'", id="policy"
        ),
        pytest.param({"sra.retention.weight": "R"}, "sra.retention.weight", 'found "R"', id="retention weight"),
        pytest.param({"sra": {"retention": {T4: "x"}}}, f"sra.retention.{T4}", 'found "x"', id="weight of a resource"),
        pytest.param(
            {f"sra.proportional.{GPU}.cpu": "all"}, f"sra.proportional.{GPU}.cpu", 'found "all"', id="cores for each"
        ),
        pytest.param({"sra": {"enable": "maybe"}}, "sra.enable", "maybe", id="a switch"),
        pytest.param({"sra": True}, "sra", "must be a mapping", id="no mapping"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(values: Values, path: str, reported: str) -> None:
    problem = refused(values)
    assert problem.path == path
    assert reported in problem.message


# -- retention ----------------------------------------------------------------------------------------------------

RETENTION: dict[str, Values] = {
    "flat": {
        "sra.policy": "retention",
        "sra.resources": f"{T4}, {A10}",
        "sra.retention.weight": 2,
        f"sra.retention.{T4}": 1,
        f"sra.retention.{A10}": 3,
    },
    "nested": {
        "sra": {"policy": "retention", "resources": f"{T4}, {A10}", "retention": {"weight": 2, T4: 1, A10: 3}},
    },
    "today's": {"sra": {"enable": True, "resources": f"{T4},{A10}", "weight": 2, "resourceWeight": {T4: 1, A10: 3}}},
    "today's, flat": {
        "sra.enable": "true",
        "sra.resources": f"{T4},{A10}",
        "sra.weight": 2,
        f"sra.resourceWeight.{T4}": 1,
        f"sra.resourceWeight.{A10}": 3,
    },
}


@pytest.mark.parametrize("values", RETENTION.values(), ids=RETENTION)
def test_retention_is_the_same_in_every_spelling(values: Values) -> None:
    arguments = read(values)
    assert arguments.retention() == Retention(2, {T4: 1, A10: 3})
    assert [*arguments.reserves()] == []


def test_one_file_may_say_the_same_in_several_spellings() -> None:
    both = {"sra": {**RETENTION["nested"]["sra"], **RETENTION["today's"]["sra"]}}
    arguments, remarks = with_remarks(both)
    assert arguments.retention() == Retention(2, {T4: 1, A10: 3})
    assert all("gives the same argument as" in remark for remark in remarks)


def test_a_misspelt_part_of_a_resource_is_reported_with_the_right_one() -> None:
    problem = refused({"resources": {"cpu": {"tpye": "MostAllocated"}}})
    assert problem.path == "resources.cpu.tpye"
    assert problem.message.endswith('found "MostAllocated" (did you mean "resources.cpu.type"?)')
    other = refused({"sra.proportional.nvidia.com/gpu.gpus": 8})
    assert "did you mean" not in other.message


def test_flat_and_nested_may_stand_side_by_side_as_long_as_they_say_the_same() -> None:
    arguments, remarks = with_remarks({**RETENTION["flat"], **RETENTION["nested"]})
    assert arguments.retention() == Retention(2, {T4: 1, A10: 3})
    assert len(remarks) == 5
    problem = refused({**RETENTION["nested"], "sra.policy": "proportional"})
    assert (problem.path, "gives the same argument as" in problem.message) == ("sra.policy", True)


@pytest.mark.parametrize(
    ("more", "path", "reported"),
    [
        pytest.param({"weight": 3}, "sra.weight", "contradicts sra.retention.weight", id="weight"),
        pytest.param({"resourceWeight": {T4: 9}}, f"sra.resourceWeight.{T4}", "contradicts", id="weight of a resource"),
        pytest.param(
            {"enable": False},
            "sra.enable",
            "false contradicts sra.policy: retention; remove one",
            id="switched off",
        ),
        pytest.param(
            {"enable": True, "policy": "proportional", "retention": {}},
            "sra.enable",
            "true, which stands for retention, contradicts sra.policy: proportional; remove one",
            id="another policy",
        ),
    ],
)
def test_a_mixture_that_contradicts_itself_is_refused(more: Values, path: str, reported: str) -> None:
    nested: Values = {"policy": "retention", "resources": f"{T4}, {A10}", "retention": {"weight": 2, T4: 1}}
    problem = refused({"sra": {**nested, **more}})
    assert problem.path == path
    assert reported in problem.message


def test_a_weight_that_is_missing_or_negative_counts_as_1() -> None:
    assert read({"sra.policy": "retention", "sra.resources": T4}).retention() == Retention(1, {T4: 1})
    arguments, remarks = with_remarks(
        {"sra": {"policy": "retention", "resources": f"{T4},{A10}", "retention": {"weight": -2, T4: -1}}}
    )
    assert arguments.retention() == Retention(1, {T4: 1, A10: 1})
    assert remarks == [
        "sra.retention.weight: must be at least 0, found -2; 1 is used instead",
        f"sra.retention.{T4}: must be at least 0, found -1; 1 is used instead",
    ]


def test_weights_of_0_switch_retention_off() -> None:
    on: Values = {"sra.policy": "retention", "sra.resources": f"{T4},{A10}"}
    assert read({**on, "sra.retention.weight": 0}).retention() is None
    assert read({**on, f"sra.retention.{T4}": 0, f"sra.retention.{A10}": 0}).retention() is None
    assert read({**on, f"sra.retention.{T4}": 0}).retention() == Retention(1, {T4: 0, A10: 1})


# -- proportional -------------------------------------------------------------------------------------------------

SEED_RATIOS = {GPU: Ratio(8, 8), V100: Ratio(16, 16)}
PARTS = {f"{GPU}.cpu": 8, f"{GPU}.memory": 8, f"{V100}.cpu": 16, f"{V100}.memory": 16}
PROPORTIONAL: dict[str, Values] = {
    "flat": {
        "sra.policy": "proportional",
        "sra.resources": f"{GPU},{V100}",
        **{f"sra.proportional.{name}": ratio for name, ratio in PARTS.items()},
    },
    "nested": {"sra": {"policy": "proportional", "resources": f"{GPU},{V100}", "proportional": PARTS}},
    "today's": {"proportional": {"enable": True, "resources": f"{GPU}, {V100}", "resourceProportion": PARTS}},
}


@pytest.mark.parametrize("values", PROPORTIONAL.values(), ids=PROPORTIONAL)
def test_proportional_is_the_same_in_every_spelling(values: Values) -> None:
    arguments = read(values)
    assert [*arguments.reserves()] == [SEED_RATIOS]
    assert arguments.retention() is None


def test_todays_block_may_be_used_together_with_retention() -> None:
    arguments = read({**RETENTION["nested"], **PROPORTIONAL["today's"]})
    assert arguments.retention() is not None
    assert [*arguments.reserves()] == [SEED_RATIOS]


def test_both_blocks_may_say_the_same_but_not_something_else() -> None:
    assert [*read({**PROPORTIONAL["nested"], **PROPORTIONAL["today's"]}).reserves()] == [SEED_RATIOS] * 2
    other = {"proportional": {"enable": True, "resources": GPU, "resourceProportion": {f"{GPU}.cpu": 4}}}
    problem = refused({**PROPORTIONAL["nested"], **other})
    assert problem.path == "proportional.enable"
    assert problem.message.startswith(
        f"its block keeps 4 cpu and 1G memory for each idle {GPU}, sra.proportional keeps 8 cpu and 8G memory"
    )
    arguments, _ = with_remarks({**PROPORTIONAL["nested"], "proportional": {**other["proportional"], "enable": False}})
    assert [*arguments.reserves()] == [SEED_RATIOS], "a block that is switched off says nothing"


def test_a_ratio_that_is_missing_counts_as_1() -> None:
    arguments = read({"sra": {"policy": "proportional", "resources": GPU, "proportional": {f"{GPU}.memory": 0.5}}})
    assert [*arguments.reserves()] == [{GPU: Ratio(1, 0.5)}]


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({f"sra.proportional.{GPU}.cpu": -0.5}, f"sra.proportional.{GPU}.cpu"),
        ({"sra": {"proportional": {f"{GPU}.memory": "-1"}}}, f"sra.proportional.{GPU}.memory"),
        ({"proportional": {"resourceProportion": {f"{GPU}.cpu": -8}}}, f"proportional.resourceProportion.{GPU}.cpu"),
        ({f"proportional.resourceProportion.{GPU}.memory": -8}, f"proportional.resourceProportion.{GPU}.memory"),
    ],
)
def test_a_ratio_below_0_is_refused_at_its_place(values: Values, path: str) -> None:
    problem = refused(values)
    assert problem.path == path
    assert problem.message.startswith("must be greater than or equal to 0, found ")


# -- what has no effect --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        ({"sra.resources": T4}, "sra has no effect without sra.policy"),
        ({"sra.retention.weight": 2}, "sra has no effect without sra.policy"),
        ({"sra.policy": "retention"}, "sra.resources lists nothing"),
        ({"sra.enable": True}, "sra.resources lists nothing"),
        (
            {"sra": {"policy": "proportional", "resources": GPU, "retention": {"weight": 2}}},
            "sra.retention has no effect: sra.policy is proportional",
        ),
        (
            {"sra": {"policy": "retention", "resources": GPU, "proportional": {f"{GPU}.cpu": 2}}},
            "sra.proportional has no effect: sra.policy is retention",
        ),
        (
            {"sra": {"policy": "retention", "resources": T4, "retention": {A10: 2}}},
            f"the settings of sra for {A10} have no effect: it is not listed in sra.resources",
        ),
        ({"proportional.enable": True}, "proportional.resources lists nothing"),
        ({"proportional.resources": GPU}, "has no effect without proportional.enable: true"),
        (
            {"proportional": {"enable": True, "resources": GPU, "resourceProportion": {f"{T4}.cpu": 2}}},
            f"proportional.resourceProportion.{T4} has no effect: it is not listed in proportional.resources",
        ),
    ],
)
def test_what_can_have_no_effect_is_reported(values: Values, reported: str) -> None:
    _, (remark,) = with_remarks(values)
    assert reported in remark


@pytest.mark.parametrize("values", [{"sra.enable": False, "sra.resources": T4}, {"proportional": {"enable": False}}])
def test_what_is_switched_off_on_purpose_is_not_remarked_upon(values: Values) -> None:
    assert read(values).retention() is None
