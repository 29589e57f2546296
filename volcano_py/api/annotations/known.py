"""The annotations and labels of pods and PodGroups whose values have a form, each with its reader.

Whatever uses such a value reads it here, so that what is reported of it is what happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from volcano_py.api import names
from volcano_py.api.annotations.reading import Annotation, Place, Unreadable
from volcano_py.api.go_values import parse_bool, parse_duration
from volcano_py.api.objects import ObjectMeta

_NUMA_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
_LARGEST_INT32: Final = 2**31 - 1  # minMember and tiers are int32 in the API
_MOST_DIGITS: Final = 9  # of a number of pods


class PodAmount(msgspec.Struct, frozen=True):
    """A number of pods, or a percentage of some."""

    number: int
    is_percentage: bool

    def of(self, pods: int) -> int:
        """How many of so many; a percentage is rounded up."""
        return -(-self.number * pods // 100) if self.is_percentage else self.number


def _whole_number(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,10}", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def _int32(text: str) -> int:
    """0 or more."""
    text = text.strip()
    if not re.fullmatch(r"[+-]?\d{1,10}", text, re.ASCII) or not 0 <= int(text) <= _LARGEST_INT32:
        raise ValueError(text)
    return int(text)


def _topology_mode(text: str) -> str:
    if text not in ("hard", "soft"):
        raise ValueError(text)
    return text


def _any_zone(text: str) -> bool:
    """Whether revocable nodes may be used; an empty value says no."""
    if text not in ("", "*"):
        raise ValueError(text)
    return bool(text)


def _numa_policy(text: str) -> str:
    if text not in ("", *_NUMA_POLICIES):
        raise ValueError(text)
    return text


def _seconds(text: str) -> float:
    """0 or more."""
    seconds = parse_duration(text).total_seconds()
    if seconds < 0:
        raise ValueError(text)
    return seconds


def _seconds_above_0(text: str) -> float:
    seconds = parse_duration(text).total_seconds()
    if seconds <= 0:
        raise ValueError(text)
    return seconds


def _pod_amount(text: str) -> PodAmount:
    text = text.strip()
    digits = text.removesuffix("%")
    if not (len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdigit()):
        raise ValueError(text)
    return PodAmount(int(digits), is_percentage=digits != text)


_WRITE_PODS: Final = "write a number of pods or a percentage, such as 2 or 25%"
_WRITE_TIME: Final = "write a duration above 0, such as 45m"

PREEMPTABLE: Final = Annotation(
    names.PREEMPTABLE,
    parse_bool,
    "write true or false",
    otherwise=False,
    meanwhile="it counts as false",
    places=(Place.ANNOTATION, Place.LABEL),
)
# Of pods.
TASK_PRIORITY: Final = Annotation(names.TASK_PRIORITY, _whole_number, "write a whole number, such as 100")
COOLDOWN_TIME: Final = Annotation(
    names.COOLDOWN_TIME, _seconds, "write a duration, such as 5m", places=(Place.LABEL, Place.ANNOTATION)
)
REVOCABLE_ZONE: Final = Annotation(
    names.REVOCABLE_ZONE,
    _any_zone,
    "write * for all zones; a single one cannot be chosen",
    otherwise=False,
    meanwhile="the pod uses no revocable nodes",
)
NUMA_POLICY: Final = Annotation(names.NUMA_POLICY, _numa_policy, f"write one of {', '.join(_NUMA_POLICIES)}")
# Of PodGroups.
RUNNING_ESTIMATE: Final = Annotation(names.RUNNING_ESTIMATE, _seconds_above_0, _WRITE_TIME)
SLA_WAITING_TIMES: Final = tuple(
    Annotation(key, _seconds_above_0, _WRITE_TIME) for key in (names.SLA_WAITING_TIME, names.OLD_SLA_WAITING_TIME)
)
"""The first that can be read counts."""
JDB_MIN_AVAILABLE: Final = Annotation(names.JDB_MIN_AVAILABLE, _pod_amount, _WRITE_PODS)
JDB_MAX_UNAVAILABLE: Final = Annotation(names.JDB_MAX_UNAVAILABLE, _pod_amount, _WRITE_PODS)
# For the PodGroup that is generated for pods: of their owner, and of pods.
GROUP_MIN_MEMBER: Final = Annotation(
    names.GROUP_MIN_MEMBER, _int32, "write a number, 0 or more", otherwise=1, meanwhile="it counts as 1"
)
NETWORK_TOPOLOGY_MODE: Final = Annotation(
    names.NETWORK_TOPOLOGY_MODE, _topology_mode, "write hard or soft, and create the pod again"
)
NETWORK_TOPOLOGY_HIGHEST_TIER: Final = Annotation(
    names.NETWORK_TOPOLOGY_HIGHEST_TIER, _int32, "write a number, 0 or more, and create the pod again"
)

_OF_PODS: Final[tuple[Annotation[Any], ...]] = (PREEMPTABLE, TASK_PRIORITY, COOLDOWN_TIME, REVOCABLE_ZONE, NUMA_POLICY)
_OF_POD_GROUPS: Final[tuple[Annotation[Any], ...]] = (
    PREEMPTABLE,
    RUNNING_ESTIMATE,
    *SLA_WAITING_TIMES,
    JDB_MIN_AVAILABLE,
    JDB_MAX_UNAVAILABLE,
)
_KEYS_OF_PODS: Final = frozenset(each.key for each in _OF_PODS)


class PodValues(msgspec.Struct, frozen=True, gc=False):
    """What a pod says of itself; None where nothing is said. `cooldown`: in seconds."""

    preemptable: bool | None = None
    uses_revocable: bool | None = None
    cooldown: float | None = None
    priority: int | None = None
    unreadable: tuple[Unreadable, ...] = ()


_NOTHING_SAID: Final = PodValues()


def values_of_pod(metadata: ObjectMeta) -> PodValues:
    """All of them at once; most pods say nothing, so that this takes two looks."""
    annotations, labels = metadata.annotations, metadata.labels
    if _KEYS_OF_PODS.isdisjoint(annotations) and _KEYS_OF_PODS.isdisjoint(labels):
        return _NOTHING_SAID
    return PodValues(
        preemptable=PREEMPTABLE.value(annotations, labels),
        uses_revocable=REVOCABLE_ZONE.value(annotations),
        cooldown=COOLDOWN_TIME.value(annotations, labels),
        priority=TASK_PRIORITY.value(annotations),
        unreadable=_unreadable(metadata, _OF_PODS),
    )


def unreadable_of_pod(metadata: ObjectMeta) -> tuple[Unreadable, ...]:
    """What of a pod's annotations and labels cannot be read."""
    return values_of_pod(metadata).unreadable


def unreadable_of_pod_group(metadata: ObjectMeta) -> tuple[Unreadable, ...]:
    """The same of a PodGroup's."""
    return _unreadable(metadata, _OF_POD_GROUPS)


def _unreadable(metadata: ObjectMeta, known: Iterable[Annotation[Any]]) -> tuple[Unreadable, ...]:
    found = (each.unreadable(metadata.annotations, metadata.labels) for each in known)
    return tuple(each for each in found if each is not None)
