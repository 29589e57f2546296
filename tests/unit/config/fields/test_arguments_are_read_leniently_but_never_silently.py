"""What an argument model accepts, fixes with a warning, and refuses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator, model_validator

from volcano_py.config import (
    Arguments,
    AtLeast,
    Code,
    Duration,
    GoBool,
    PositiveDuration,
    Problem,
    ResourceNames,
    Severity,
    advise,
    argument,
    instead,
    read_arguments,
)


class Mode(Enum):
    FAST = "fast"
    SAFE = "safe"


class Threshold(Arguments):
    cpu: float = argument("cpu", 80.0, "Percent.")
    names: tuple[str, ...] = argument("names", (), "Which.")


class Everything(Arguments):
    integer: int = argument("my.integer", 1, "An integer.")
    number: float = argument("my.number", 1.5, "A number.")
    boolean: bool = argument("my.boolean", False, "A plain boolean.")
    go_boolean: GoBool = argument("my.goBoolean", False, "A boolean as Go reads it.")
    text: str = argument("my.text", "", "Text.")
    names: ResourceNames = argument("my.names", (), "Names.")
    wait: Duration = argument("my.wait", timedelta(seconds=1), "A duration.")
    limit: PositiveDuration = argument("my.limit", timedelta(seconds=1), "A duration above 0.")
    mode: Mode = argument("my.mode", Mode.SAFE, "A choice.")
    choice: Literal["a", "b"] = argument("my.choice", "a", "Another choice.")
    factor: Annotated[float, AtLeast(1, otherwise=1.2)] = argument("my.factor", 1.2, "At least 1.")
    percent: Annotated[int, Field(ge=0, le=100)] = argument("my.percent", 10, "0 to 100.")
    optional: int | None = argument("my.optional", None, "May be left out.")
    threshold: Threshold = argument("threshold", Threshold(), "Nested.")
    thresholds: list[Threshold] = argument("thresholds", [], "A list of nested ones.")
    weights: Mapping[str, Annotated[int, AtLeast(0, otherwise=1)]] = argument("my.weight.<name>", {}, "Family.")


def read(values: Mapping[str, object], *, strict: bool = False) -> tuple[Everything, list[Problem]]:
    arguments, problems = read_arguments(Everything, values, strict=strict)
    assert arguments is not None, problems
    return arguments, list(problems)


def refused(values: Mapping[str, object]) -> Problem:
    arguments, problems = read_arguments(Everything, values)
    assert arguments is None
    (problem,) = problems
    assert problem.severity is Severity.ERROR
    return problem


def test_nothing_given_means_the_defaults() -> None:
    assert read({}) == (Everything(), [])


def test_fields_can_be_set_by_name_in_python_and_stay_as_they_are() -> None:
    arguments = Everything(integer=3, weights={"a": 2})
    assert (arguments.integer, arguments.weights) == (3, {"a": 2})
    with pytest.raises(ValidationError, match="frozen"):
        arguments.integer = 4


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("my.integer", 5, "integer", 5),
        ("my.integer", -(2**63), "integer", -(2**63)),
        ("my.number", 5, "number", 5.0),
        ("my.number", 0.25, "number", 0.25),
        ("my.boolean", True, "boolean", True),
        ("my.goBoolean", "T", "go_boolean", True),
        ("my.goBoolean", "0", "go_boolean", False),
        ("my.text", "on", "text", "on"),
        ("my.names", " a, b,,c , a", "names", ("a", "b", "c")),
        ("my.names", ["a", "b "], "names", ("a", "b")),
        ("my.names", "", "names", ()),
        ("my.wait", "1m30s", "wait", timedelta(seconds=90)),
        ("my.wait", 0, "wait", timedelta()),
        ("my.wait", "-1s", "wait", timedelta(seconds=-1)),
        ("my.mode", "fast", "mode", Mode.FAST),
        ("my.choice", "b", "choice", "b"),
        ("my.optional", 3, "optional", 3),
        ("my.optional", None, "optional", None),
        ("threshold", {"cpu": 5}, "threshold", Threshold(cpu=5)),
        ("thresholds", [{"names": ["x"]}, {}], "thresholds", [Threshold(names=("x",)), Threshold()]),
        ("my.weight.nvidia.com/gpu", 7, "weights", {"nvidia.com/gpu": 7}),
    ],
)
def test_values_of_the_right_type_are_taken_without_a_word(
    key: str, value: object, field: str, expected: object
) -> None:
    arguments, problems = read({key: value}, strict=True)
    assert (getattr(arguments, field), problems) == (expected, [])


@pytest.mark.parametrize(
    ("key", "value", "field", "expected", "message"),
    [
        ("my.integer", "10", "integer", 10, 'must be an integer, found "10"; read as 10; write it that way'),
        ("my.integer", " 0x10 ", "integer", 16, 'must be an integer, found " 0x10 "; read as 16; write it that way'),
        ("my.integer", 5.0, "integer", 5, "must be an integer, found 5.0; read as 5; write it that way"),
        ("my.number", "2.5", "number", 2.5, 'must be a number, found "2.5"; read as 2.5; write it that way'),
        ("my.boolean", "true", "boolean", True, 'must be true or false, found "true"; read as true; write it that way'),
        ("my.boolean", "F", "boolean", False, 'must be true or false, found "F"; read as false; write it that way'),
        ("my.boolean", "off", "boolean", False, 'must be true or false, found "off"; read as false; write it that way'),
        ("my.boolean", 1, "boolean", True, "must be true or false, found 1; read as true; write it that way"),
        ("my.text", 12, "text", "12", 'must be text, found 12; read as the text "12"; write it that way'),
        ("my.text", True, "text", "true", 'must be text, found true; read as the text "true"; write it that way'),
        ("my.optional", "3", "optional", 3, 'must be an integer, found "3"; read as 3; write it that way'),
        (
            "threshold",
            {"cpu": "5"},
            "threshold",
            Threshold(cpu=5),
            'must be a number, found "5"; read as 5; write it that way',
        ),
    ],
)
def test_values_of_another_type_that_can_be_read_are_read_with_a_warning(
    key: str, value: object, field: str, expected: object, message: str
) -> None:
    arguments, (problem,) = read({key: value})
    read_value = getattr(arguments, field)
    assert (read_value, type(read_value)) == (expected, type(expected))
    assert (problem.severity, problem.code, problem.message) == (Severity.WARNING, Code.COERCED, message)


def test_values_of_another_type_are_refused_when_strict() -> None:
    arguments, (problem,) = read_arguments(Everything, {"my.integer": "10"}, strict=True)
    assert arguments is None
    assert (problem.severity, problem.code) == (Severity.ERROR, Code.COERCED)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("my.integer", "ten", 'must be an integer, found "ten"; the default is 1'),
        ("my.integer", 5.5, "must be an integer, found 5.5; the default is 1"),
        ("my.integer", True, "must be an integer, found true; the default is 1"),
        (
            "my.integer",
            "9223372036854775808",
            'must be an integer of at most 64 bits, found "9223372036854775808"; the default is 1',
        ),
        (
            "my.integer",
            "99999999999999999999",
            'must be an integer of at most 64 bits, found "99999999999999999999"; the default is 1',
        ),
        ("my.integer", 1e300, "must be an integer, found 1e+300; the default is 1"),
        ("my.integer", [1], "must be an integer, found a list; the default is 1"),
        ("my.number", "1e400", 'must be a number, found "1e400"; the default is 1.5'),
        ("my.number", "NaN", 'must be a number, found "NaN"; the default is 1.5'),
        ("my.number", float("nan"), "must be a finite number, found nan; the default is 1.5"),
        ("my.number", float("inf"), "must be a finite number, found inf; the default is 1.5"),
        ("my.number", {"a": 1}, "must be a number, found a mapping; the default is 1.5"),
        ("my.boolean", "maybe", 'must be true or false, found "maybe"; the default is false'),
        ("my.boolean", 2, "must be true or false, found 2; the default is false"),
        ("my.goBoolean", "yes", '"yes" is not a boolean; write true or false; the default is false'),
        ("my.text", ["a"], "must be text, found a list"),
        ("my.names", {"a": 1}, "must be names separated by commas, or a list of them, found a mapping"),
        ("my.names", 3, "must be names separated by commas, or a list of them, found 3"),
        ("my.names", ["a", 3, True], 'must be names separated by commas, or a list of them; "3" in it is not a name'),
        ("my.names", [["a"]], "must be names separated by commas, or a list of them; \"['a']\" in it is not a name"),
        ("my.wait", "5 minutes", 'unknown unit " minutes" in the duration "5 minutes"; use ns, us, ms, s, m or h'),
        ("my.wait", True, "must be a duration such as 30s, 5m or 1h30m, found true"),
        ("my.limit", "0s", 'must be a duration longer than 0, such as 30s, found "0s"'),
        ("my.mode", "slow", "must be one of 'fast' or 'safe', found \"slow\""),
        ("my.choice", "c", "must be one of 'a' or 'b', found \"c\""),
        ("my.percent", 101, "must be less than or equal to 100, found 101; the default is 10"),
        ("threshold", 3, "must be a mapping, found 3"),
        ("my", 3, "must be a mapping (it groups arguments such as my.…), found 3"),
    ],
)
def test_values_that_cannot_be_read_are_refused(key: str, value: object, message: str) -> None:
    problem = refused({key: value})
    assert (problem.path, problem.message) == (key, message)


def test_a_value_below_its_minimum_is_replaced_with_a_warning() -> None:
    arguments, (problem,) = read({"my.factor": 0.5})
    assert arguments.factor == 1.2
    assert (problem.path, problem.code) == ("my.factor", Code.OUT_OF_RANGE)
    assert problem.message == "must be at least 1, found 0.5; 1.2 is used instead"


def test_a_replacement_stays_a_warning_when_strict() -> None:
    assert read({"my.factor": 0}, strict=True)[1][0].severity is Severity.WARNING


def test_text_below_the_minimum_is_read_and_then_replaced() -> None:
    arguments, problems = read({"my.factor": "0.5"})
    assert arguments.factor == 1.2
    assert [problem.code for problem in problems] == [Code.COERCED, Code.OUT_OF_RANGE]


def test_each_member_of_a_family_is_judged_by_itself() -> None:
    arguments, problems = read({"my.weight.a": -1, "my": {"weight": {"b": "4", "c": -7}}, "my.weight.d": 3})
    assert arguments.weights == {"a": 1, "b": 4, "c": 1, "d": 3}
    assert [(problem.path, problem.code) for problem in problems] == [
        ("my.weight.a", Code.OUT_OF_RANGE),
        ("my.weight.b", Code.COERCED),
        ("my.weight.c", Code.OUT_OF_RANGE),
    ]


class Overlapping(Arguments):
    all: Mapping[str, int] = argument("x.<name>", {}, "Whatever the others leave.")
    cpu: Mapping[str, int] = argument("x.<name>.cpu", {}, "Of each.")
    main_cpu: int = argument("x.main.cpu", 0, "One in particular.")


def test_a_key_goes_to_the_most_specific_of_several_families() -> None:
    arguments, problems = read_arguments(Overlapping, {"x.a": 1, "x.a.cpu": 2, "x.main.cpu": 3, "x.b.c": 4})
    assert problems == ()
    assert arguments == Overlapping(all={"a": 1, "b.c": 4}, cpu={"a": 2}, main_cpu=3)


def test_replacements_are_silent_in_python() -> None:
    assert Everything(factor=0.5, weights={"a": -3}) == Everything(factor=1.2, weights={"a": 1})


@pytest.mark.parametrize("key", ["my.integer", "my.text", "my.names", "my.wait", "threshold", "my.weight.a", "my"])
def test_a_key_without_a_value_means_the_default_with_a_warning(key: str) -> None:
    arguments, (problem,) = read({key: None})
    assert arguments == Everything()
    assert (problem.path, problem.code) == (key, Code.EMPTY_VALUE)


def test_unknown_keys_are_noticed_at_every_depth() -> None:
    arguments, problems = read(
        {
            "my.intger": 1,
            "other": {"a": {"b": 1}},
            "my": {"foo": 1},
            "threshold": {"gpu": 1, "cpu": 2},
            "thresholds": [{}, {"mem": 3}],
        }
    )
    assert arguments == Everything(threshold=Threshold(cpu=2), thresholds=[Threshold(), Threshold()])
    assert [(problem.path, problem.message) for problem in problems] == [
        ("my.intger", 'unknown key, ignored (did you mean "my.integer"?)'),
        ("other", "unknown key, ignored"),
        ("my.foo", "unknown key, ignored"),
        ("threshold.gpu", "unknown key, ignored; remove it"),
        ("thresholds[1].mem", "unknown key, ignored; remove it"),
    ]


def test_errors_and_warnings_of_one_model_come_together() -> None:
    arguments, problems = read_arguments(
        Everything, {"my.integer": "ten", "my.number": "2", "my.mode": "x", "my.factor": 0, "nope": 1}
    )
    assert arguments is None
    assert {(problem.path, problem.severity) for problem in problems} == {
        ("my.integer", Severity.ERROR),
        ("my.number", Severity.WARNING),
        ("my.mode", Severity.ERROR),
        ("my.factor", Severity.WARNING),
        ("nope", Severity.WARNING),
    }


class PluginOfAnAuthor(Arguments):
    """Written as the guide for plugin authors shows it, with pydantic's own Field."""

    weight: float = Field(1.0, alias="mine.weight", description="Weight of the score.")
    url: str = Field(alias="mine.url", description="Where to ask.")

    @field_validator("weight")
    @classmethod
    def _sensible(cls, weight: float, info: ValidationInfo) -> float:
        if weight > 1000:
            return instead(info, 1000.0, "must not exceed 1000")
        if 100 < weight < 1000:
            advise(info, "more than 100 drowns every other plugin's score")
        return weight

    @model_validator(mode="after")
    def _secure(self) -> PluginOfAnAuthor:
        if not self.url.startswith("https://") and self.weight:
            raise ValueError("mine.url must start with https:// unless mine.weight is 0")
        return self


def test_a_plugin_author_can_use_fields_and_validators_of_pydantic() -> None:
    url = "https://example.com"
    good, problems = read_arguments(PluginOfAnAuthor, {"mine.weight": 3, "mine": {"url": url}})
    assert good is not None
    assert (good.weight, good.url, problems) == (3.0, url, ())

    replaced, (problem,) = read_arguments(PluginOfAnAuthor, {"mine.weight": 2000, "mine.url": url})
    assert replaced is not None
    assert replaced.weight == 1000.0
    assert problem.message == "must not exceed 1000, found 2000; 1000 is used instead"

    advised, (problem,) = read_arguments(PluginOfAnAuthor, {"mine.weight": 500, "mine.url": url})
    assert advised is not None
    assert advised.weight == 500
    assert (problem.path, problem.code) == ("mine.weight", Code.ADVICE)


def test_a_required_argument_that_is_missing_is_named() -> None:
    arguments, (problem,) = read_arguments(PluginOfAnAuthor, {})
    assert arguments is None
    assert (problem.path, problem.code) == ("mine.url", Code.MISSING)
    assert problem.message == "is required; add it to the arguments"


def test_a_validator_of_the_whole_model_can_refuse() -> None:
    arguments, (problem,) = read_arguments(PluginOfAnAuthor, {"mine.url": "http://example.com"})
    assert arguments is None
    assert problem.message == "mine.url must start with https:// unless mine.weight is 0"


class Hostile(Arguments):
    crash: int = argument("crash", 0, "Its validator raises what it should not.")
    endless: int = argument("endless", 0, "Its validator is never content.")

    @field_validator("crash")
    @classmethod
    def _crash(cls, value: int) -> int:
        raise KeyError(value)

    @field_validator("endless")
    @classmethod
    def _endless(cls, value: int, info: ValidationInfo) -> int:
        return instead(info, value + 1, "must be another value")


def test_a_validator_that_crashes_is_an_error_of_the_configuration() -> None:
    arguments, (problem,) = read_arguments(Hostile, {"crash": 1})
    assert arguments is None
    assert problem.message == "the argument model Hostile failed: KeyError: 1"


def test_a_validator_that_is_never_content_does_not_hang_the_reader() -> None:
    arguments, problems = read_arguments(Hostile, {"endless": 1})
    assert arguments is None
    assert problems[-1].message == "the validators of Hostile keep asking for other values"


class Plain(BaseModel):
    """A model that does not derive from Arguments works too."""

    worker_count: int = Field(4, alias="workerCount")
    tags: dict[str, str] = Field(default_factory=dict, alias="tag.<name>")


class Open(BaseModel, extra="allow"):
    known: int = 0


def test_any_pydantic_model_will_do() -> None:
    plain, problems = read_arguments(Plain, {"workerCount": "8", "tag.a": "x", "worker_count": 3})
    assert plain is not None
    assert (plain.worker_count, plain.tags) == (8, {"a": "x"})
    assert {(problem.path, problem.code) for problem in problems} == {
        ("workerCount", Code.COERCED),
        ("worker_count", Code.UNKNOWN_KEY),
    }
    _, (problem,) = read_arguments(Plain, {"workerCount": "many"})
    assert (problem.path, problem.code) == ("workerCount", Code.WRONG_TYPE)


def test_a_model_that_allows_extra_keys_gets_them() -> None:
    model, problems = read_arguments(Open, {"known": 1, "free": {"a": [1]}})
    assert model is not None
    assert (model.model_extra, problems) == ({"free": {"a": [1]}}, ())
