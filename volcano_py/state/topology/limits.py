"""How near to each other pods of a PodGroup have to be, and how the group is divided: as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from volcano_py.api.objects import LabelSelector, PodGroupSpec
from volcano_py.api.wording.explain import invalid_field
from volcano_py.state.terms.label_syntax import LABEL_KEY, faults_of_selector
from volcano_py.state.terms.selectors import selects

HARD: Final = "hard"
SOFT: Final = "soft"
MOST_POLICIES: Final = 1_000
LARGEST_NUMBER: Final = 2**31 - 1
"""Of tiers and of pods, as in Volcano's int32."""
_SEPARATOR: Final = "\n"  # (no value of a label has it)


class Limit(msgspec.Struct, frozen=True):
    """One `networkTopology`.

    Attributes:
        mode: `hard` or `soft`; a missing one is hard.
        tier: the widest tier that is allowed, None when it is not said.
        tier_name: the same by name, "" when it is not said.
    """

    mode: str = HARD
    tier: int | None = None
    tier_name: str = ""

    @property
    def is_hard(self) -> bool:
        """Whether pods have to wait for it. Hard without a tier limits nothing."""
        return self.mode == HARD and (self.tier is not None or bool(self.tier_name))


class SubGroupPolicy(msgspec.Struct, frozen=True):
    """One entry of `subGroupPolicy`: its pods form a sub-group for each combination of values of the match keys.

    Attributes:
        limit: how near to each other the pods of one sub-group have to be; None for nothing.
        size: how many pods make a sub-group complete.
        minimum: how many complete sub-groups the job needs.
    """

    name: str
    limit: Limit | None
    size: int
    minimum: int
    selector: LabelSelector | None
    keys: tuple[str, ...]


class GroupTopology(msgspec.Struct, frozen=True, eq=False):
    """What a PodGroup says of it; `limit` is that of the group as a whole."""

    limit: Limit | None
    policies: tuple[SubGroupPolicy, ...]

    @property
    def is_hard(self) -> bool:
        """Whether pods have to wait for any of the limits."""
        limits = [self.limit, *(policy.limit for policy in self.policies)]
        return any(limit is not None and limit.is_hard for limit in limits)

    @property
    def limits_sub_groups(self) -> bool:
        """Whether sub-groups have limits of their own."""
        return any(policy.limit is not None for policy in self.policies)


def read_topology(spec: PodGroupSpec) -> tuple[GroupTopology | None, list[str]]:
    """None for a PodGroup that says nothing of it; and what cannot be used, as field, finding and fix."""
    if spec.network_topology is None and not spec.sub_group_policy:
        return None, []
    faults: list[str] = []
    limit = _limit("spec.networkTopology", spec.network_topology, faults)
    if len(spec.sub_group_policy) > MOST_POLICIES:
        found = f"{len(spec.sub_group_policy)} entries"
        return None, [invalid_field("spec.subGroupPolicy", found, f"use at most {MOST_POLICIES}")]
    policies = tuple(
        _policy(f"spec.subGroupPolicy[{number}]", each, faults) for number, each in enumerate(spec.sub_group_policy)
    )
    names = [policy.name for policy in policies]
    twice = sorted({name for name in names if names.count(name) > 1})
    faults += [invalid_field("spec.subGroupPolicy", name, "give each policy a name of its own") for name in twice]
    return GroupTopology(limit, policies), faults


def _limit(path: str, given: Any, faults: list[str]) -> Limit | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        faults.append(invalid_field(path, given, "write mode, and highestTierAllowed or highestTierName"))
        return None
    mode, tier, name = (given.get(field) for field in ("mode", "highestTierAllowed", "highestTierName"))
    mode, name = HARD if mode in (None, "") else mode, "" if name is None else name
    if mode not in (HARD, SOFT):
        faults.append(invalid_field(f"{path}.mode", mode, "use hard or soft"))
    if tier is not None and not _is_number(tier, 0):
        faults.append(invalid_field(f"{path}.highestTierAllowed", tier, _whole_number(0)))
    if not isinstance(name, str):
        faults.append(invalid_field(f"{path}.highestTierName", name, "write the name of a tier"))
    if tier is not None and name:
        faults.append(invalid_field(f"{path}.highestTierName", name, "highestTierAllowed is set, too: keep one"))
    return None if faults else Limit(mode, tier, name)


def _policy(path: str, given: Any, faults: list[str]) -> SubGroupPolicy:
    fields: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if fields is not given:
        faults.append(invalid_field(path, given, "write the fields of a policy"))
    limit = _limit(f"{path}.networkTopology", fields.get("networkTopology"), faults)
    size = _number(f"{path}.subGroupSize", fields.get("subGroupSize"), 1, 1, faults)
    minimum = _number(f"{path}.minSubGroups", fields.get("minSubGroups"), 0, 0, faults)
    selector: LabelSelector | None = None
    try:
        selector = msgspec.convert(fields.get("labelSelector"), LabelSelector | None)
    except msgspec.ValidationError as error:
        faults.append(f"{path}.labelSelector cannot be read: {error}")
    faults.extend(faults_of_selector(f"{path}.labelSelector", selector))
    keys = [] if fields.get("matchLabelKeys") is None else fields["matchLabelKeys"]
    if not isinstance(keys, list) or not all(isinstance(key, str) and LABEL_KEY.fullmatch(key) for key in keys):
        faults.append(invalid_field(f"{path}.matchLabelKeys", keys, "write a list of label keys, such as app"))
        keys = []
    return SubGroupPolicy(str(fields.get("name") or ""), limit, size, minimum, selector, tuple(keys))


def _number(path: str, given: Any, default: int, least: int, faults: list[str]) -> int:
    if given is None:
        return default
    if not _is_number(given, least):
        faults.append(invalid_field(path, given, _whole_number(least)))
        return default
    number: int = given
    return number


def _is_number(given: Any, least: int) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and least <= given <= LARGEST_NUMBER


def _whole_number(least: int) -> str:
    return f"write a whole number from {least} to {LARGEST_NUMBER}"


def membership(policies: Sequence[SubGroupPolicy], labels: Mapping[str, str]) -> str:
    """The sub-group of a pod with these labels, for the task table; "" when it is in none; see `read_sub_group`.

    A pod belongs to the first policy that selects it and for whose keys it has values; a policy without keys has no
    pods, as in Volcano.
    """
    for number, policy in enumerate(policies):
        values = tuple(labels.get(key, "") for key in policy.keys)
        if values and all(values) and (policy.selector is None or selects(policy.selector, labels)):
            return _SEPARATOR.join((str(number), *values))
    return ""


def read_sub_group(text: str) -> tuple[int, tuple[str, ...]]:
    """The number of the policy of a sub-group, and its values of the match keys."""
    number, *values = text.split(_SEPARATOR)
    return int(number), tuple(values)
