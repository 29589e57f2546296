"""The arguments of rescheduling."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, ValidationInfo

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.values import Duration, PositiveDuration, TypeName
from volcano_py.plugins.rescheduling.strategies import LowNodeUtilization, read_strategies

_PERIOD_IS_THE_SOURCES = (
    "has no effect: over which time load is averaged is up to the source of `metrics` (10m with Prometheus); remove it"
)
_SHORTEST: Final = timedelta(seconds=1)


def _said_once(value: timedelta, info: ValidationInfo) -> timedelta:
    advise(info, _PERIOD_IS_THE_SOURCES)
    return value


def _bearable(value: timedelta, info: ValidationInfo) -> timedelta:
    """Each run is a cycle, also when nothing has changed."""
    if value < _SHORTEST:
        advise(info, "is shorter than 1s, so it counts as 1s")
    return max(value, _SHORTEST)


def _strategy(value: object, info: ValidationInfo) -> LowNodeUtilization | None:
    if isinstance(value, LowNodeUtilization):
        for remark in value.useless():
            advise(info, remark)
        return value
    strategy, remarks = read_strategies([] if value is None else value)
    for remark in remarks:
        advise(info, remark)
    return strategy


Strategies: TypeAlias = Annotated[
    LowNodeUtilization | None,
    PlainValidator(_strategy),
    Field(validate_default=True),
    PlainSerializer(lambda value: None if value is None else value.as_written()),
    TypeName("list of strategies"),
]


class ReschedulingArguments(Arguments):
    interval: Annotated[PositiveDuration, AfterValidator(_bearable)] = argument(
        "interval", timedelta(minutes=5), "Time between two runs."
    )
    metrics_period: Annotated[Duration, AfterValidator(_said_once)] = argument(
        "metricsPeriod", timedelta(minutes=5), "Accepted and ignored: the source of `metrics` has its own period."
    )
    strategy: Strategies = argument(
        "strategies",
        LowNodeUtilization(),
        "A list with the one strategy there is, `lowNodeUtilization`. Its `params` are `thresholds` (a node below all "
        "of them takes pods) and `targetThresholds` (a node above one of them loses pods), each with `cpu` and "
        "`memory` in percent, 100 where missing.",
    )
    most_victims: Annotated[int, Field(ge=1)] = argument(
        "maxVictims", 10, "How many pods are evicted in one run at most."
    )
