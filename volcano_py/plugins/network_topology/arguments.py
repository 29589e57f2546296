"""The arguments of network-topology-aware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, ValidationInfo, model_validator

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.values import AtLeast, ResourceNames

Weight = Annotated[int, AtLeast(0, otherwise=1), Field(le=2**31 - 1)]


class NetworkTopologyArguments(Arguments):
    weight: Weight = argument("weight", 1, "Weight of all scores; 0 switches them off.")
    cpu: Weight = argument("hypernode.binpack.cpu", 1, "Weight of cpu in the score of a HyperNode.")
    memory: Weight = argument("hypernode.binpack.memory", 1, "Weight of memory in the score of a HyperNode.")
    resources: ResourceNames = argument(
        "hypernode.binpack.resources", (), "Other resources in the score of a HyperNode."
    )
    resource_weights: Mapping[str, Weight] = argument(
        "hypernode.binpack.resources.<name>",
        {},
        "Weight of one of `hypernode.binpack.resources` (1 when missing or negative).",
    )
    normal_pods: bool = argument(
        "hypernode.binpack.normal-pod.enable",
        True,
        "Whether pods of jobs without `networkTopology` prefer full HyperNodes, so that others stay free.",
    )
    fading: Annotated[float, AtLeast(0.0, otherwise=0.8)] = argument(
        "hypernode.binpack.normal-pod.fading",
        0.8,
        "The weight of each tier for such pods, as a multiple of the tier below; with 0 only the lowest tier counts.",
    )
    most_evicted_from: Annotated[int, AtLeast(1, otherwise=8)] = argument(
        "hypernode.gradient.evict.max-hypernodes",
        8,
        "How many HyperNodes are tried when pods are evicted for a job.",
    )
    balance: bool = argument(
        "network-topology-aware.balance",
        False,
        "Whether a job of equal pods that needs several HyperNodes is divided evenly: 12 pods over two racks with room "
        "for 10 each are 6 and 6. Otherwise, as in Volcano, they are 10 and 2.",
    )

    @model_validator(mode="after")
    def _listed(self, info: ValidationInfo) -> Self:
        for name in self.resource_weights:
            if name not in self.resources:
                advise(
                    info,
                    f"hypernode.binpack.resources.{name} has no effect: {name} is not listed in "
                    "hypernode.binpack.resources",
                )
        return self

    def weights(self) -> dict[str, int]:
        """Resource name → weight of all that count."""
        others = {name: self.resource_weights.get(name, 1) for name in self.resources}
        return {**others, "cpu": self.cpu, "memory": self.memory}
