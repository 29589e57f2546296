"""The settings of resource-strategy-fit, however they were written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec


class Scoring(StrEnum):
    """Whether a node is the better the more, or the less, of a resource is in use. Names are kube-scheduler's."""

    MOST_ALLOCATED = "MostAllocated"
    LEAST_ALLOCATED = "LeastAllocated"


class Policy(StrEnum):
    """How scarce resources are protected: by score, or by keeping cpu and memory free for them."""

    RETENTION = "retention"
    PROPORTIONAL = "proportional"


class Strategy(msgspec.Struct, frozen=True):
    """How one resource counts in the score of a node."""

    scoring: Scoring
    weight: int


class Retention(msgspec.Struct, frozen=True):
    """Points for nodes without scarce resources. `resources`: name → how much each one weighs."""

    weight: int
    resources: Mapping[str, int]


DEFAULT_STRATEGIES: Final[Mapping[str, Strategy]] = {
    "cpu": Strategy(Scoring.LEAST_ALLOCATED, 1),
    "memory": Strategy(Scoring.LEAST_ALLOCATED, 1),
}
WILDCARD: Final = "*"
LARGEST_WEIGHT: Final = 2**31 - 1
"""What a weight of Volcano can hold on every platform."""


class Strategies:
    """Strategies by resource name, where a name may end in `*`: exact names first, then the longest beginning."""

    def __init__(self, strategies: Mapping[str, Strategy]) -> None:
        self._exact = {name: strategy for name, strategy in strategies.items() if WILDCARD not in name}
        beginnings = [(name[:-1], strategy) for name, strategy in strategies.items() if is_beginning(name)]
        self._beginnings = sorted(beginnings, key=lambda pair: -len(pair[0]))

    def of(self, resource: str) -> Strategy | None:
        """The strategy of a resource, None when it does not count."""
        found = self._exact.get(resource)
        if found is not None:
            return found
        return next((strategy for start, strategy in self._beginnings if resource.startswith(start)), None)


def is_beginning(name: str) -> bool:
    """Whether a name means all resources that begin like it: `nvidia.com/*`, but neither `*` nor `*.com/gpu`."""
    return len(name) > 1 and name.find(WILDCARD) == len(name) - 1


def unusable_names(names: Iterable[str]) -> Iterator[str]:
    """Names with a `*` where it means nothing."""
    return (name for name in names if WILDCARD in name and not is_beginning(name))
