"""The arguments of resource-strategy-fit: three spellings in use, one meaning.

Scarce resource avoidance is written flat (`sra.policy`, `sra.retention.weight`), nested (`sra: {policy: …}`), or as
today's Volcano has it (`sra: {enable, weight, resourceWeight}` and a block `proportional` of its own). They may stand
side by side, so that one file serves several schedulers, as long as they say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.values import AtLeast, GoBool, ResourceNames
from volcano_py.plugins.amounts.reserve import PerDevice, Ratio, ratios
from volcano_py.plugins.resource_strategy_fit.settings import (
    DEFAULT_STRATEGIES,
    LARGEST_WEIGHT,
    Policy,
    Retention,
    Scoring,
    Strategies,
    Strategy,
    unusable_names,
)

_AtMost = Field(le=LARGEST_WEIGHT)
Weight = Annotated[int, AtLeast(0, otherwise=1), _AtMost]
PositiveWeight = Annotated[int, AtLeast(1, otherwise=1), _AtMost]


class ResourceStrategyFitArguments(Arguments):
    weight: Annotated[int, AtLeast(0, otherwise=10), _AtMost] = argument(
        "resourceStrategyFitWeight", 10, "Weight of the strategies' score; 0 switches it off."
    )
    scorings: Mapping[str, Scoring] = argument(
        "resources.<name>.type",
        {},
        "MostAllocated gathers pods on nodes with much of the resource in use; LeastAllocated (the default) spreads "
        "them. A name may end in `*`. Without any `resources`, cpu and memory are spread.",
    )
    weights: Mapping[str, PositiveWeight] = argument(
        "resources.<name>.weight", {}, "Weight of the resource among the others (1 when missing)."
    )
    policy: Policy | None = argument(
        "sra.policy",
        None,
        "How the resources of `sra.resources` are protected: retention prefers nodes without them for pods that do not "
        "ask for them, proportional keeps cpu and memory free for them.",
    )
    scarce: ResourceNames = argument("sra.resources", (), "The scarce resources.")
    retention_weight: Weight = argument(
        ("sra.retention.weight", "sra.weight"), 1, "Weight of the retention score; 0 switches it off."
    )
    retention_weights: Mapping[str, Weight] = argument(
        ("sra.retention.<name>", "sra.resourceWeight.<name>"),
        {},
        "Weight of one of `sra.resources` in the retention score (1 when missing).",
    )
    cores: PerDevice = argument(
        "sra.proportional.<name>.cpu",
        {},
        "Cores to keep for each idle one of `sra.resources` (1 when missing).",
    )
    gigabytes: PerDevice = argument(
        "sra.proportional.<name>.memory",
        {},
        "Gigabytes (10^9 bytes) to keep for each idle one of `sra.resources` (1 when missing).",
    )
    enable: GoBool = argument("sra.enable", False, "Today's spelling of `sra.policy: retention`.")
    devices: ResourceNames = argument(
        "proportional.resources", (), "The devices of a block `proportional`, which may be used together with `sra`."
    )
    device_cores: PerDevice = argument(
        "proportional.resourceProportion.<name>.cpu", {}, "As `sra.proportional.<name>.cpu`."
    )
    device_gigabytes: PerDevice = argument(
        "proportional.resourceProportion.<name>.memory", {}, "As `sra.proportional.<name>.memory`."
    )
    proportional: GoBool = argument(
        "proportional.enable", False, "Keep cpu and memory free for the devices of `proportional.resources`."
    )

    def strategies(self) -> Strategies:
        """How each resource counts in the score."""
        names = dict.fromkeys((*self.scorings, *self.weights))
        written = {
            name: Strategy(self.scorings.get(name, Scoring.LEAST_ALLOCATED), self.weights.get(name, 1))
            for name in names
        }
        return Strategies(written or DEFAULT_STRATEGIES)

    def retention(self) -> Retention | None:
        """None when it is off."""
        is_on = self.policy is Policy.RETENTION or (self.policy is None and self.enable)
        resources = {name: self.retention_weights.get(name, 1) for name in self.scarce}
        has_effect = is_on and self.retention_weight > 0 and any(resources.values())
        return Retention(self.retention_weight, resources) if has_effect else None

    def reserves(self) -> Iterator[Mapping[str, Ratio]]:
        """Device → what to keep for each one that is idle; once for each place where it is written."""
        if self.policy is Policy.PROPORTIONAL and self.scarce:
            yield ratios(self.scarce, self.cores, self.gigabytes)
        if self.proportional and self.devices:
            yield ratios(self.devices, self.device_cores, self.device_gigabytes)

    @field_validator("enable")
    @classmethod
    def _agrees_with_policy(cls, value: bool, info: ValidationInfo) -> bool:
        policy = info.data.get("policy")
        if policy is not None and value is not (policy is Policy.RETENTION):
            meaning = "true, which stands for retention," if value else "false"
            raise ValueError(f"{meaning} contradicts sra.policy: {policy}; remove one")
        return value

    @field_validator("proportional")
    @classmethod
    def _agrees_with_sra(cls, value: bool, info: ValidationInfo) -> bool:
        """Both places may speak of a device, but only with one voice."""
        written: dict[str, Any] = {name: field.default for name, field in cls.model_fields.items()} | info.data
        if not value or written["policy"] is not Policy.PROPORTIONAL:
            return value
        here = ratios(written["devices"], written["device_cores"], written["device_gigabytes"])
        there = ratios(written["scarce"], written["cores"], written["gigabytes"])
        for name in here:
            if name in there and here[name] != there[name]:
                raise ValueError(
                    f"its block keeps {_ratio_text(here[name])} for each idle {name}, sra.proportional keeps "
                    f"{_ratio_text(there[name])}; remove one"
                )
        return value

    @model_validator(mode="after")
    def _has_an_effect(self, info: ValidationInfo) -> Self:
        for remark in _without_effect(self):
            advise(info, remark)
        return self


def _ratio_text(ratio: Ratio) -> str:
    return f"{ratio.cpu:g} cpu and {ratio.memory:g}G memory"


def _without_effect(given: ResourceStrategyFitArguments) -> Iterator[str]:
    """What was written and does nothing, as sentences."""
    for name in unusable_names(dict.fromkeys((*given.scorings, *given.weights))):
        yield f"resources.{name} has no effect: a * is allowed only after the beginning of a name"
    yield from _without_effect_in_sra(given)
    yield from _without_effect_in_proportional(given)


def _without_effect_in_sra(given: ResourceStrategyFitArguments) -> Iterator[str]:
    written = given.model_fields_set
    of_retention = written & {"retention_weight", "retention_weights"}
    of_reserve = written & {"cores", "gigabytes"}
    if given.policy is None and "enable" not in written and (of_retention or of_reserve or given.scarce):
        yield "sra has no effect without sra.policy; set it to retention or proportional"
    if (given.policy or given.enable) and not given.scarce:
        yield "sra has no effect: sra.resources lists nothing"
    if given.policy is Policy.PROPORTIONAL and of_retention:
        yield "sra.retention has no effect: sra.policy is proportional"
    if given.policy is Policy.RETENTION and of_reserve:
        yield "sra.proportional has no effect: sra.policy is retention"
    for name in _unlisted(given.scarce, given.retention_weights, given.cores, given.gigabytes):
        yield f"the settings of sra for {name} have no effect: it is not listed in sra.resources"


def _without_effect_in_proportional(given: ResourceStrategyFitArguments) -> Iterator[str]:
    written = given.model_fields_set
    if given.proportional and not given.devices:
        yield "proportional.enable has no effect: proportional.resources lists nothing"
    if "proportional" not in written and written & {"devices", "device_cores", "device_gigabytes"}:
        yield "the block proportional has no effect without proportional.enable: true"
    for name in _unlisted(given.devices, given.device_cores, given.device_gigabytes):
        yield f"proportional.resourceProportion.{name} has no effect: it is not listed in proportional.resources"


def _unlisted(listed: Sequence[str], *blocks: Mapping[str, Any]) -> list[str]:
    """Names in the blocks that are not listed, sorted; none where nothing is listed at all."""
    return sorted({name for block in blocks for name in block} - {*listed}) if listed else []
