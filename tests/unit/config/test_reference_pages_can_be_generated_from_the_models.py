"""Rows of key, type, default and description for every model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from volcano_py.config import (
    Arguments,
    AtLeast,
    Duration,
    Flags,
    NoArguments,
    PositiveDuration,
    ResourceNames,
    Row,
    argument,
    describe,
)


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Limits(Arguments):
    cpu: int = argument("cpu", 80, "Percent of cpu.")


class Strategy(Arguments):
    name: str = Field(description="Which strategy.")
    limits: Limits = argument("limits", Limits(), "Its limits.")


class Documented(Arguments):
    """Everything that a field can be."""

    weight: Annotated[int, Field(ge=0, le=10)] = argument("my.weight", 1, "Weight.\n    Zero switches off.")
    factor: Annotated[float, AtLeast(1, otherwise=1.2)] = argument("my.factor", 1.2, "Factor.")
    above: Annotated[float, AtLeast(0, otherwise=1, exclusive=True)] = argument("my.above", 2.0, "Above.")
    names: ResourceNames = argument("my.names", ("a", "b"), "Names.")
    each: Mapping[str, Annotated[float, AtLeast(0, otherwise=1)]] = argument("my.names.<name>", {}, "Each.")
    ratios: Mapping[str, Annotated[float, Field(ge=0)]] = argument("my.names.<name>.ratio", {}, "Ratio of each.")
    period: PositiveDuration = argument(("my.period", "my.interval"), timedelta(seconds=90), "Period.")
    wait: Duration | None = argument("my.wait", None, "Wait.")
    level: Level = argument("my.level", Level.LOW, "Level.")
    kind: Literal["x", "y"] = argument("my.kind", "x", "Kind.")
    on: bool = argument("my.on", True, "On.")
    either: int | str = argument("my.either", 1, "Either.")
    listed: list[int] = argument("my.list", [], "List.")
    mapped: Mapping[str, int] = argument("my.map", {}, "Map.")
    anything: Any = argument("my.any", None, "Any.")
    url: str = Field(alias="my.url", description="Required.")
    limits: Limits = argument("limits", Limits(), "One.")
    by_name: Mapping[str, Limits] = argument("byName", {}, "Many by name.")
    strategies: list[Strategy] = argument("strategies", [], "Many in a list.")


def test_every_field_has_a_row() -> None:
    assert describe(Documented) == (
        Row("my.weight", "integer at least 0 at most 10", "1", "Weight. Zero switches off."),
        Row("my.factor", "number at least 1 (else 1.2)", "1.2", "Factor."),
        Row("my.above", "number above 0 (else 1)", "2", "Above."),
        Row("my.names", "comma-separated resource names", "a, b", "Names."),
        Row("my.names.<name>", "number at least 0 (else 1)", "", "Each."),
        Row("my.names.<name>.ratio", "number at least 0", "", "Ratio of each."),
        Row("my.period", "duration above 0", "1m30s", "Period.", also=("my.interval",)),
        Row("my.wait", "duration", "", "Wait."),
        Row("my.level", "low or high", "low", "Level."),
        Row("my.kind", "x or y", "x", "Kind."),
        Row("my.on", "boolean", "true", "On."),
        Row("my.either", "integer or text", "1", "Either."),
        Row("my.list", "list of integer", "", "List."),
        Row("my.map", "mapping to integer", "", "Map."),
        Row("my.any", "any", "", "Any."),
        Row("my.url", "text", "required", "Required."),
        Row("limits", "mapping", "", "One."),
        Row("limits.cpu", "integer", "80", "Percent of cpu."),
        Row("byName", "mapping to mapping", "", "Many by name."),
        Row("byName.<name>.cpu", "integer", "80", "Percent of cpu."),
        Row("strategies", "list of mapping", "", "Many in a list."),
        Row("strategies[].name", "text", "required", "Which strategy."),
        Row("strategies[].limits", "mapping", "", "Its limits."),
        Row("strategies[].limits.cpu", "integer", "80", "Percent of cpu."),
    )


class Node(BaseModel):
    child: Node | None = None


def test_a_model_that_contains_itself_is_described_to_a_depth() -> None:
    assert [row.key for row in describe(Node)][:3] == ["child", "child.child", "child.child.child"]
    assert len(describe(Node)) == 5


def test_the_switches_are_described() -> None:
    rows = {row.key: row for row in describe(Flags)}
    assert len(rows) == len(Flags.model_fields)
    assert rows["enableHierarchy"].default == "false"
    assert rows["enabledOverused"].default == "true"
    assert all(row.type == "boolean" and row.description.endswith(".") for row in rows.values())


def test_no_arguments_have_no_rows() -> None:
    assert describe(NoArguments) == ()


@pytest.mark.parametrize("model", [Documented, Flags])
def test_models_have_a_json_schema_for_editors(model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    assert schema["additionalProperties"] is False
    assert all("description" in entry for entry in schema["properties"].values())
