"""The arguments of usage."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

from volcano_py.api.quantity import LARGEST, QuantityError, parse_quantity, to_units
from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import AtLeast, TypeName

Percent: TypeAlias = Annotated[int, Field(ge=0, le=100)]
Weight: TypeAlias = Annotated[int, AtLeast(0, otherwise=1)]
Part: TypeAlias = Annotated[float, Field(ge=0, le=1)]


def _quantity(value: Any) -> str:
    try:
        amount = parse_quantity(value) if isinstance(value, str | int | float) else None
    except QuantityError:
        amount = None
    if amount is None or isinstance(value, bool) or not 0 <= amount <= LARGEST:
        raise ValueError("must be a quantity such as 250m or 200Mi")
    return str(value)


Quantity: TypeAlias = Annotated[str, BeforeValidator(_quantity), TypeName("quantity")]


class UsageArguments(Arguments):
    weight: Annotated[int, AtLeast(0, otherwise=5)] = argument(
        "usage.weight", 5, "Weight of this plugin's score; 0 switches it off."
    )
    cpu_weight: Weight = argument("cpu.weight", 1, "Weight of the CPU load in the score.")
    memory_weight: Weight = argument("memory.weight", 1, "Weight of the memory load in the score.")
    cpu_threshold: Percent = argument(
        "thresholds.cpu", 80, "CPU load of a node, in percent, above which it accepts no more pods."
    )
    memory_threshold: Percent = argument(
        "thresholds.mem", 80, "Memory load of a node, in percent, above which it accepts no more pods."
    )
    request_ratio: Part = argument(
        "estimator.request_ratio", 0.7, "Part of a pod's request that it is expected to use, until it is measured."
    )
    burst_ratio: Part = argument(
        "estimator.burst_ratio",
        0.0,
        "Part of the difference between a pod's limit and request that is added to its expected use.",
    )
    risk_threshold: Part = argument(
        "estimator.risk_threshold", 0.6, "Load of a node above which its new pods are expected to use more."
    )
    risk_factor: Annotated[float, AtLeast(1.0, otherwise=1.2)] = argument(
        "estimator.risk_factor", 1.2, "The factor by which they are expected to use more."
    )
    best_effort_cpu: Quantity = argument("estimator.be_cpu", "250m", "Expected use of a pod without a CPU request.")
    best_effort_memory: Quantity = argument(
        "estimator.be_mem", "200Mi", "Expected use of a pod without a memory request."
    )

    def best_effort(self) -> tuple[int, int]:
        """Millicores and bytes."""
        return (
            to_units(parse_quantity(self.best_effort_cpu), scale=1000),
            to_units(parse_quantity(self.best_effort_memory)),
        )
