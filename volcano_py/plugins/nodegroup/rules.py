"""What a queue says about node groups: `spec.affinity` and the annotation with its limits, read once a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.api.names import NODE_GROUP_LIMITS
from volcano_py.api.quantity import Rounding
from volcano_py.api.wording.explain import invalid_field
from volcano_py.state.infos import QueueInfo, read_amounts
from volcano_py.state.table.axis import LARGEST_SUM

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_LIMITS_FIX: Final = 'write amounts by resource by node group, such as {"group-a": {"cpu": "32"}}'
_NAMES_FIX: Final = "write a list of names of node groups"
_limits_decoder: Final = msgspec.json.Decoder(dict[str, dict[str, str | int | float]])


class RulesError(ValueError):
    """The queue's rules cannot be read; the message names the field, what was found and the fix."""


class Affinity(msgspec.Struct, frozen=True):
    """Names of node groups, in the order written."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    anti_required: tuple[str, ...] = ()
    anti_preferred: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred or self.anti_required or self.anti_preferred)

    def allows(self, group: str) -> bool:
        """In required or preferred, and not kept away from; what it rather keeps away from is allowed."""
        wanted = group in self.required or group in self.preferred
        return (wanted and group not in self.anti_required) or group in self.anti_preferred

    def used(self) -> tuple[str, ...]:
        """Those that it allows, sorted."""
        return tuple(sorted(filter(self.allows, {*self.required, *self.preferred, *self.anti_preferred})))

    def score(self, group: str, *, ordered: bool) -> float:
        """100 for a required group, 50 for a preferred one (less for later ones when `ordered`), -1 for one that the
        queue rather keeps away from."""
        if group in self.anti_preferred:
            return -1.0
        score = 100.0 if group in self.required else 0.0
        if group in self.preferred:
            count = len(self.preferred)
            score += 50.0 * (count - self.preferred.index(group)) / count if ordered else 50.0
        return score


def read_affinity(queue: QueueInfo) -> Affinity:
    """The queue's own rules.

    Raises:
        RulesError: a list of names is something else.
    """
    spec = queue.spec_affinity or {}
    return Affinity(
        required=_names(spec, "nodeGroupAffinity", _REQUIRED),
        preferred=_names(spec, "nodeGroupAffinity", _PREFERRED),
        anti_required=_names(spec, "nodeGroupAntiAffinity", _REQUIRED),
        anti_preferred=_names(spec, "nodeGroupAntiAffinity", _PREFERRED),
    )


def read_limits(queue: QueueInfo) -> Mapping[str, Mapping[str, int]]:
    """Node group → resource → how much of it the queue may hold there; cpu in millicores, the rest in whole units.

    Raises:
        RulesError: the annotation is no JSON of that shape, or an amount cannot be read.
    """
    text = queue.annotations.get(NODE_GROUP_LIMITS)
    if not text:
        return {}
    field = f"annotation {NODE_GROUP_LIMITS}"
    try:
        written = _limits_decoder.decode(text)
    except msgspec.DecodeError:
        raise RulesError(invalid_field(field, text, _LIMITS_FIX)) from None
    limits: dict[str, Mapping[str, int]] = {}
    for group, amounts in written.items():
        units, problems = read_amounts(amounts, f"{field}: {group}", Rounding.DOWN, LARGEST_SUM)
        if problems:
            raise RulesError(problems[0])
        limits[group] = units
    return limits


def _names(spec: Mapping[str, object], side: str, when: str) -> tuple[str, ...]:
    rules = spec.get(side)
    if rules is None:
        return ()
    if not isinstance(rules, Mapping):
        raise RulesError(invalid_field(f"spec.affinity.{side}", rules, "write it as a mapping"))
    found = rules.get(when)
    if found is None:
        return ()
    if not isinstance(found, list | tuple) or not all(isinstance(name, str) for name in found):
        raise RulesError(invalid_field(f"spec.affinity.{side}.{when}", found, _NAMES_FIX))
    return tuple(dict.fromkeys(found))
