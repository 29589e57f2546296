"""The arguments of the predicates plugin: Volcano's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.values import GoBool, ResourceNames
from volcano_py.plugins.amounts.reserve import PerDevice, Ratio, ratios

_LARGEST: Final = 2**31 - 1
_WAITS: Final = "Until that is evaluated, pods that need it wait, whatever is set here."
# volumebinding's scorer is made only with the gate, which Kubernetes 1.36 has as alpha and off.
_NOT_SCORED: Final = (
    "nodes are not scored by their volumes, as in kube-scheduler without its feature gate StorageCapacityScoring "
    "(alpha, off)"
)
_NO_VOLUME_SCORE: Final = f"Without effect: {_NOT_SCORED}."


class PredicatesArguments(Arguments):
    """Switches of the single tests. Whether a node is cordoned is always looked at."""

    node_affinity: GoBool = argument(
        "predicate.NodeAffinityEnable", True, "Evaluate `nodeSelector` and required node affinity."
    )
    node_ports: GoBool = argument("predicate.NodePortsEnable", True, "Keep pods with the same host ports apart.")
    taints: GoBool = argument("predicate.TaintTolerationEnable", True, "Evaluate NoSchedule and NoExecute taints.")
    pod_affinity: GoBool = argument(
        "predicate.PodAffinityEnable", True, "Evaluate required affinity and anti-affinity between pods."
    )
    volume_limits: GoBool = argument(
        "predicate.NodeVolumeLimitsEnable", True, "Limit the CSI volumes on a node to what it can attach."
    )
    volume_zone: GoBool = argument(
        "predicate.VolumeZoneEnable", True, "Evaluate the zones and regions that bound volumes are labelled with."
    )
    topology_spread: GoBool = argument(
        "predicate.PodTopologySpreadEnable", True, "Evaluate `topologySpreadConstraints` with DoNotSchedule."
    )
    volume_binding: GoBool = argument(
        "predicate.VolumeBindingEnable",
        True,
        "Evaluate claims: where volumes can be used or provisioned, and whether a claim is ready. Keep pods that write "
        "the same disk apart.",
    )
    dynamic_resources: GoBool = argument(
        "predicate.DynamicResourceAllocationEnable",
        True,
        "Choose the devices that ResourceClaims of pods ask for. If not, such pods wait.",
    )
    cache: GoBool = argument(
        "predicate.CacheEnable",
        False,
        "Without effect: the verdicts of nodes are always cached until the nodes change.",
    )
    volume_binding_weight: int = argument(
        "volumebinding.weight", 1, f"Weight of a score by volumes. {_NO_VOLUME_SCORE}"
    )
    volume_binding_seconds: Annotated[int, Field(ge=1, le=_LARGEST)] = argument(
        "volumebinding.bindTimeoutSeconds",
        600,
        "Seconds that the volumes of a pod may take to be bound; then the pod is tried again.",
    )
    volume_binding_shape: Any = argument(
        "volumebinding.shape", None, f"Points of utilization and score for that. {_NO_VOLUME_SCORE}"
    )
    dynamic_resources_seconds: int = argument(
        "dynamicresources.filterTimeoutSeconds", 10, "Longest time for one pod's claims. Without effect so far."
    )
    gpu_sharing: GoBool = argument(
        "predicate.GPUSharingEnable", False, "Historical: sharing of GPUs belongs to the plugin deviceshare."
    )
    proportional: GoBool = argument(
        "predicate.ProportionalEnable",
        False,
        "Keep cpu and memory free for the idle devices of `predicate.resources`, for pods that ask for devices.",
    )
    resources: ResourceNames = argument(
        "predicate.resources", (), "The devices for which cpu and memory are kept free."
    )
    resource_cpu: PerDevice = argument(
        "predicate.resources.<name>.cpu", {}, "Cores to keep for each idle device (1 when missing)."
    )
    resource_memory: PerDevice = argument(
        "predicate.resources.<name>.memory", {}, "Gigabytes (10^9 bytes) to keep for each idle device (1 when missing)."
    )

    def reserve(self) -> Mapping[str, Ratio]:
        """Device → what to keep for each one that is idle; empty when the rule is off."""
        return ratios(self.resources, self.resource_cpu, self.resource_memory) if self.proportional else {}

    @field_validator("gpu_sharing")
    @classmethod
    def _moved(cls, value: bool, info: ValidationInfo) -> bool:
        if value:
            advise(info, "has no effect here: sharing of GPUs belongs to the plugin deviceshare")
        return value

    @field_validator("volume_binding_weight", "volume_binding_shape")
    @classmethod
    def _nothing_to_weigh(cls, value: Any, info: ValidationInfo) -> Any:
        if value:
            advise(info, f"has no effect here: {_NOT_SCORED}")
        return value

    @model_validator(mode="after")
    def _has_an_effect(self, info: ValidationInfo) -> Self:
        if self.proportional and not self.resources:
            advise(info, "predicate.ProportionalEnable has no effect: predicate.resources lists no device")
        for name in sorted({*self.resource_cpu, *self.resource_memory} - {*self.resources}):
            advise(info, f"predicate.resources.{name} has no effect: {name} is not listed in predicate.resources")
        return self
