"""The workload of Kubernetes that a generated PodGroup follows: the group itself is reset when it is changed."""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.api.names import GROUP_MIN_MEMBER
from volcano_py.api.wording.summarize import counted
from volcano_py.api.workloads import WorkloadSpec
from volcano_py.explain.target import Target, inherited_from
from volcano_py.explain.world import World
from volcano_py.operator.podgroups.generated_group import SCALED_OWNERS, is_generated

_PARALLEL: Final = "Parallel"


class Owner(msgspec.Struct, frozen=True):
    """The controller of the pods: its kind, namespace/name, and its spec where it can be read; `top` is the Deployment
    above it, or itself (`Deployment shop/web`)."""

    kind: str
    key: str
    spec: WorkloadSpec | None
    top: str

    @property
    def minimum(self) -> str:
        """Where the minimum of the gang is written."""
        return f"the annotation {GROUP_MIN_MEMBER} of {self.top}"

    def to_create(self, missing: int, need: int) -> str:
        """What makes it create the `missing` pods of the `need` that the gang starts with; "" where that is not
        known."""
        change = self._change(self.spec, need) if self.spec is not None else ""
        return change and f"{change}: it then creates the {counted(missing, 'pod')} that the gang lacks"

    def _change(self, spec: WorkloadSpec, need: int) -> str:
        if self.kind == "StatefulSet" and spec.pod_management_policy != _PARALLEL:  # which cannot be changed
            count = f" and {need} replicas" if _one(spec.replicas) < need else ""
            return f"recreate {self.top} with podManagementPolicy {_PARALLEL}{count}"
        if self.kind in SCALED_OWNERS and _one(spec.replicas) < need:
            return f"raise replicas of {self.top} to {need}"
        if self.kind == "Job" and spec.completions is not None and spec.completions < need:  # mostly not to change
            return f"recreate {self.top} with completions and parallelism of {need}"
        if self.kind == "Job" and _one(spec.parallelism) < need:
            return f"raise parallelism of {self.top} to {need}"
        return ""


def _one(written: int | None) -> int:
    """The API's default."""
    return 1 if written is None else written


def owner_of(world: World, target: Target) -> Owner | None:
    """None for a PodGroup that was not generated, or that is of one pod."""
    group = target.found
    found = inherited_from(world, group) if group is not None and is_generated(target.group) else None
    if group is None or found is None:
        return None
    owner, workload = found
    namespace = group.metadata.namespace
    key = f"{namespace}/{owner.name}"
    above = workload.metadata.controller if workload is not None else None
    top = f"{above.kind} {namespace}/{above.name}" if above is not None else f"{owner.kind} {key}"
    return Owner(owner.kind, key, None if workload is None else workload.spec, top)
