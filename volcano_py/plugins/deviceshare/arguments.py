"""The arguments of deviceshare: Volcano's names and defaults. What is not evaluated yet is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from pydantic import ValidationInfo, field_validator, model_validator

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.values import GoBool
from volcano_py.plugins.deviceshare.apart import Rules, read_rules
from volcano_py.plugins.deviceshare.choice import SCORING, Policy
from volcano_py.plugins.deviceshare.mig import Models, read_models
from volcano_py.state.cards.asked import Sharing

_MISSING: Final = "Not supported yet: a file that sets it is invalid."
_GEOMETRIES: Final = ("volcano-vgpu-device-config", "kube-system")


class DeviceShareArguments(Arguments):
    vgpu: GoBool = argument(
        "deviceshare.VGPUEnable",
        False,
        "Choose cards for pods that ask for `volcano.sh/vgpu-number`, `-memory`, `-cores`.",
    )
    gpu_sharing: GoBool = argument(
        "deviceshare.GPUSharingEnable",
        False,
        "Choose a card for pods that ask for `volcano.sh/gpu-memory`, instead.",
    )
    gpu_number: GoBool = argument(
        "deviceshare.GPUNumberEnable",
        False,
        "Choose cards that no other pod uses for pods that ask for `volcano.sh/gpu-number`, instead.",
    )
    policy: str = argument(
        "deviceshare.SchedulePolicy",
        "",
        "Which cards come first: `binpack`, those with the most memory in use, or `spread`, those with the fewest "
        "users; otherwise the last ones of a node. With `deviceshare.VGPUEnable`.",
    )
    weight: float = argument(
        "deviceshare.ScheduleWeight", 0.0, "Weight of the score of nodes by that policy, 100 points for each card."
    )
    node_lock: GoBool = argument("deviceshare.NodeLockEnable", False, f"One binding a node at a time. {_MISSING}")
    mind_cluster: GoBool = argument(
        "deviceshare.AscendMindClusterVNPUEnable", False, f"Parts of Ascend NPUs, by MindCluster. {_MISSING}"
    )
    ascend_hami: GoBool = argument(
        "deviceshare.AscendHAMiVNPUEnable", False, f"Parts of Ascend NPUs, by HAMi. {_MISSING}"
    )
    exclusive_rules: Any = argument(
        "deviceshare.GPUExclusiveRules",
        None,
        "Maps of labels, such as `[{app: train}, {team: a, tier: x}]`: no two pods that have all labels of a map share "
        "a card. With `deviceshare.VGPUEnable`, and not on cards that are divided.",
    )
    mig: Any = argument(
        "deviceshare.KnownMigGeometries",
        None,
        "Ours: which instances GPUs in mode `mig` may have, as in `nvidia.knownMigGeometries` of the ConfigMap that "
        "Volcano reads. With `deviceshare.VGPUEnable`.",
    )
    geometries_name: str = argument(
        "deviceshare.KnownGeometriesCMName", _GEOMETRIES[0], f"ConfigMap of MIG geometries. {_MISSING}"
    )
    geometries_namespace: str = argument(
        "deviceshare.KnownGeometriesCMNamespace", _GEOMETRIES[1], f"Its namespace. {_MISSING}"
    )

    @field_validator("node_lock", "mind_cluster", "ascend_hami")
    @classmethod
    def _off(cls, value: Any) -> Any:
        if value:
            raise ValueError("is not supported yet; remove it")
        return value

    @field_validator("geometries_name", "geometries_namespace")
    @classmethod
    def _not_read(cls, value: str) -> str:
        if value not in _GEOMETRIES:
            raise ValueError(
                "is not supported yet: no ConfigMap is read; remove it, and write its nvidia.knownMigGeometries into "
                "deviceshare.KnownMigGeometries"
            )
        return value

    @field_validator("exclusive_rules")
    @classmethod
    def _are_read(cls, value: Any) -> Sequence[Mapping[str, str]]:
        return read_rules(value)

    @field_validator("mig")
    @classmethod
    def _is_read(cls, value: Any) -> Models:
        return () if value is None else read_models(value)

    @field_validator("policy")
    @classmethod
    def _is_known(cls, value: str, info: ValidationInfo) -> str:
        if value and value not in SCORING:
            advise(info, f"has no effect: write {Policy.BINPACK} or {Policy.SPREAD}")
        return value

    @model_validator(mode="after")
    def _has_one_effect(self, info: ValidationInfo) -> Self:
        on = [key for key, is_on in self._ways().items() if is_on]
        if len(on) > 1:
            raise ValueError(f"{' and '.join(on)} exclude each other: leave one of them")
        if not on:
            advise(info, f"deviceshare has no effect: write one of {', '.join(self._ways())}, with the value true")
        for key, value in (
            ("deviceshare.KnownMigGeometries", self.mig),
            ("deviceshare.GPUExclusiveRules", self.exclusive_rules),
        ):
            if on and value and not self.vgpu:
                advise(info, f"{key} has no effect without deviceshare.VGPUEnable: true; remove it")
        return self

    def models(self) -> Models:
        """Of GPUs that are divided into instances."""
        return self.mig or ()

    def rules(self) -> Rules:
        """Of pods that do not share cards."""
        return Rules(self.exclusive_rules or () if self.vgpu else ())

    def sharing(self) -> Sharing | None:
        """How pods share GPUs; None: they do not."""
        return next((way for way, is_on in zip(Sharing, self._ways().values(), strict=True) if is_on), None)

    def card_policy(self) -> Policy | None:
        """None: the last card first, and no scores."""
        if not self.vgpu:
            return Policy.FIRST
        return Policy(self.policy) if self.policy in SCORING else None

    def _ways(self) -> dict[str, bool]:
        """The arguments that turn on each `Sharing`, in its order."""
        return {
            "deviceshare.VGPUEnable": self.vgpu,
            "deviceshare.GPUSharingEnable": self.gpu_sharing,
            "deviceshare.GPUNumberEnable": self.gpu_number,
        }
