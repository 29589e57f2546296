"""The arguments of the capacity plugin: Volcano's names and defaults."""

from __future__ import annotations

from typing import Annotated

from pydantic import ValidationInfo, field_validator

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.values import AtLeast, GoBool


class CapacityArguments(Arguments):
    ancestor_reclaim_level: Annotated[int, AtLeast(0, otherwise=0)] = argument(
        "ancestorReclaimLevel",
        0,
        "With `enableHierarchy`: for how many levels above a queue reclaim compares what is held with what is "
        "deserved. 0: only what the queues themselves deserve counts.",
    )
    dynamic_resources: GoBool = argument(
        "capacity.DynamicResourceAllocationEnable",
        True,
        "Hold queues to the number of devices of a class that `deviceclass/NAME` in `capability` names.",
    )
    consumable_capacity: GoBool = argument(
        "capacity.DRAConsumableCapacityEnable",
        False,
        "Hold queues to amounts of devices' capacities (`memory.deviceclass/NAME`). Without effect so far.",
    )

    @field_validator("consumable_capacity")
    @classmethod
    def _not_yet(cls, value: bool, info: ValidationInfo) -> bool:
        """Warn about quotas that have no effect."""
        if value:
            advise(info, "is accepted but not evaluated yet: no quota of capacities of devices is kept")
        return value
