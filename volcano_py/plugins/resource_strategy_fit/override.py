"""Strategies that a pod asks for itself, by two annotations: one scoring for all resources, and weights as JSON.

volcano.sh/resource-strategy-scoring-type: MostAllocated
volcano.sh/resource-strategy-weight: '{"nvidia.com/gpu": 5, "cpu": 1}'
"""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.api.names import RESOURCE_STRATEGY_TYPE, RESOURCE_STRATEGY_WEIGHT
from volcano_py.api.wording.explain import invalid_field
from volcano_py.plugins.resource_strategy_fit.settings import (
    LARGEST_WEIGHT,
    Scoring,
    Strategies,
    Strategy,
    unusable_names,
)

_decoder: Final = msgspec.json.Decoder(dict[str, int])
_WEIGHTS_FIX: Final = f'write whole numbers from 0 to {LARGEST_WEIGHT} by resource, such as {{"cpu": 1}}'
_TYPE_FIX: Final = f"write {Scoring.MOST_ALLOCATED} or {Scoring.LEAST_ALLOCATED}"


class OverrideError(ValueError):
    """The annotations cannot be read; the message names the annotation, what was found and the fix."""


def read_override(scoring: str, weights: str) -> Strategies:
    """The strategies in the two annotations' texts.

    Raises:
        OverrideError: one is missing or cannot be read.
    """
    if not scoring or not weights:
        missing = RESOURCE_STRATEGY_WEIGHT if scoring else RESOURCE_STRATEGY_TYPE
        raise OverrideError(f"annotation {missing} is missing: it and its sibling only work together")
    try:
        kind = Scoring(scoring.strip())
    except ValueError:
        raise OverrideError(invalid_field(f"annotation {RESOURCE_STRATEGY_TYPE}", scoring, _TYPE_FIX)) from None
    try:
        amounts = _decoder.decode(weights)
    except msgspec.DecodeError as error:
        raise OverrideError(_bad_weights(weights)) from error
    are_weights = all(0 <= weight <= LARGEST_WEIGHT for weight in amounts.values())
    if not amounts or not are_weights or any(unusable_names(amounts)):
        raise OverrideError(_bad_weights(weights))
    return Strategies({name: Strategy(kind, weight) for name, weight in amounts.items()})


def _bad_weights(found: str) -> str:
    return invalid_field(f"annotation {RESOURCE_STRATEGY_WEIGHT}", found, _WEIGHTS_FIX)
