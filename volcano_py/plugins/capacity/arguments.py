"""The arguments of the capacity plugin: Volcano's names and defaults."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import ValidationInfo, field_validator

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.values import AtLeast, GoBool

_WAITS: Final = "Without effect so far: pods with resource claims wait, whatever is set here."


class CapacityArguments(Arguments):
    ancestor_reclaim_level: Annotated[int, AtLeast(0, otherwise=0)] = argument(
        "ancestorReclaimLevel",
        0,
        "With `enableHierarchy`: for how many levels above a queue reclaim compares what is held with what is "
        "deserved. 0: only what the queues themselves deserve counts.",
    )
    dynamic_resources: GoBool = argument(
        "capacity.DynamicResourceAllocationEnable", False, f"Hold queues to quotas of device classes. {_WAITS}"
    )
    consumable_capacity: GoBool = argument(
        "capacity.DRAConsumableCapacityEnable", False, f"Hold queues to quotas of capacities of devices. {_WAITS}"
    )

    @field_validator("dynamic_resources", "consumable_capacity")
    @classmethod
    def _not_yet(cls, value: bool, info: ValidationInfo) -> bool:
        """Warn about quotas that have no effect."""
        if value:
            advise(info, "is accepted but not evaluated yet: no quota of device classes is kept")
        return value
