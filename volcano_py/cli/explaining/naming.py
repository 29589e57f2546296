"""PodGroups of an explanation as people call them. The JSON output keeps their own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from volcano_py.explain.model import (
    CronJobExplanation,
    Forecast,
    NodeExplanation,
    Position,
    QueueExplanation,
    WorkloadExplanation,
)

_OF_GROUPS: Final = ("gang", "object")
"""Kinds of limits that have the name of a PodGroup."""
Explanation = WorkloadExplanation | CronJobExplanation | QueueExplanation | NodeExplanation


def as_called(explanation: Explanation, called: Mapping[str, str]) -> Explanation:
    """The explanation, with other names for PodGroups. `called`: namespace/name → the name to print."""
    match explanation:
        case WorkloadExplanation():
            return _workload(explanation, called)
        case CronJobExplanation():
            return replace(explanation, jobs=tuple(_workload(job, called) for job in explanation.jobs))
        case NodeExplanation():
            pods = {called.get(name, name): count for name, count in explanation.pods.items()}
            return replace(explanation, pods=dict(sorted(pods.items())))
        case QueueExplanation():
            return explanation  # it names no PodGroup


def _workload(found: WorkloadExplanation, called: Mapping[str, str]) -> WorkloadExplanation:
    return replace(
        found,
        position=_position(found.position, called),
        limits=tuple(
            replace(each, name=called.get(each.name, each.name)) if each.kind in _OF_GROUPS else each
            for each in found.limits
        ),
        holders=tuple(replace(each, job=called.get(each.job, each.job)) for each in found.holders),
        forecast=_forecast(found.forecast, called),
    )


def _position(found: Position | None, called: Mapping[str, str]) -> Position | None:
    if found is None:
        return None
    return replace(found, ahead=tuple(replace(each, name=called.get(each.name, each.name)) for each in found.ahead))


def _forecast(found: Forecast | None, called: Mapping[str, str]) -> Forecast | None:
    return None if found is None else replace(found, after=tuple(called.get(name, name) for name in found.after))
