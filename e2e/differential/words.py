"""The words of a generated cluster: names, labels and namespaces, chosen so that they meet often and mean something."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final, TypeVar

Manifest = dict[str, Any]
T = TypeVar("T")

NAMESPACES: Final[dict[str, dict[str, str]]] = {
    "red": {"team": "a", "stage": "test"},
    "green": {"team": "a", "stage": "live"},
    "blue": {"team": "b"},
}
"""Namespaces and their labels; made once, used by all clusters."""

CLUSTER_LABEL: Final = "differential/cluster"
"""On nodes and most pods: which of the clusters that stand side by side they belong to."""

HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
GPU: Final = "nvidia.com/gpu"
HUGE_PAGES: Final = "hugepages-2Mi"

APPS: Final = ("web", "db", "cache")
TIERS: Final = ("front", "back")
DISKS: Final = ("ssd", "hdd", "")
NUMBERS: Final = ("0", "007", "7", "8", "16", "4x", "9223372036854775807", "9223372036854775808")
"""Values of the label `cores`: integers with a surprise, no integer, the largest int64 and one more."""


class Words:
    """The randomness and the vocabulary of one cluster; everything follows from the seed and the number."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed}/{number}")
        self.number = number
        self.cluster = f"c{number}"
        # Keys of its own keep the domains of a cluster apart from those of its neighbours; now and then it has the
        # well-known one, whose domains stretch over all.
        self.zone = ZONE if self.chance(0.15) else f"zone.{self.cluster}"
        self.rack = f"rack.{self.cluster}"
        self.nodes = tuple(f"{self.cluster}-n{index}" for index in range(self.between(2, 7)))

        self.claims: set[tuple[str, str]] = set()
        """Namespaces and kinds of the claims that pods mention."""
        self.owners: set[tuple[str, str]] = set()
        """Namespaces and kinds of the owners that pods mention."""

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one_of(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def some_of(self, choices: Sequence[T], least: int = 1, most: int | None = None) -> list[T]:
        """Between `least` and `most` different ones."""
        most = len(choices) if most is None else min(most, len(choices))
        return self.random.sample(choices, self.random.randint(least, most))

    def between(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    @property
    def topology_keys(self) -> tuple[str, ...]:
        """Keys of domains; the last is on no node."""
        return (self.zone, self.zone, self.rack, HOST, f"nowhere.{self.cluster}")

    def topology_key(self) -> str:
        return self.random.choices(self.topology_keys, weights=(4, 4, 3, 4, 1))[0]

    def namespace(self) -> str:
        """Most pods are in the first, so that they have company."""
        return self.random.choices(tuple(NAMESPACES), weights=(3, 1, 1))[0]

    def pod_labels(self) -> dict[str, str]:
        labels = {"app": self.one_of(APPS)}
        if self.chance(0.6):
            labels["tier"] = self.one_of(TIERS)
        if self.chance(0.3):
            labels["revision"] = self.one_of(("1", "2"))
        if self.chance(0.8):
            labels[CLUSTER_LABEL] = self.cluster
        return labels
