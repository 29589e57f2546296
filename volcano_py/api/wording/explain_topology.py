"""Sentences about jobs that are kept together in the network; as in `explain.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from volcano_py.api.wording.summarize import counted, summarize

_MOST_SUB_GROUPS: Final = 16


class DomainRoom(msgspec.Struct, frozen=True):
    """The best domain of a tier, "" for the whole cluster: for how many pods it has room, and whether the job may use
    it."""

    name: str
    tier_name: str
    tier: int
    pods: int
    allowed: bool


def no_domain(found: Sequence[DomainRoom], wanted: int, where: str = "", *, sub_group: str = "") -> str:
    """No allowed domain has room. `found` has the best of each tier, the narrowest first; `where` the pods are, "" for
    nowhere; `sub_group` is the one that needs the room, "" for the job."""
    shown = _worth_saying(found, wanted)
    parts = [_has_room(each, wanted, is_first=number == 0) for number, each in enumerate(shown) if each.allowed]
    wider = [f"{_tier(each)}, with room for {each.pods} of {wanted}" for each in shown if not each.allowed]
    if wider:
        what = "not allowed by networkTopology" if parts else "networkTopology allows no tier that exists; not allowed"
        parts.append(f"{what}: {'; '.join(wider)}")
    sentence = "; ".join([f"its placed pods are in {where}", *parts] if where else parts)
    return f"sub-group {sub_group}: {sentence}" if sub_group else sentence


def _worth_saying(found: Sequence[DomainRoom], wanted: int) -> list[DomainRoom]:
    """All that are allowed, and those that are not up to the first that would do."""
    said: list[DomainRoom] = []
    for each in found:
        said.append(each)
        if not each.allowed and each.pods >= wanted:
            break
    return said


def _has_room(room: DomainRoom, wanted: int, *, is_first: bool) -> str:
    number = f"{room.pods} of {counted(wanted, 'pod')}" if is_first else f"{room.pods} of {wanted}"
    return f"{_tier(room)}: {room.name} has room for {number}" if room.name else f"{_tier(room)}, has room for {number}"


def _tier(room: DomainRoom) -> str:
    if not room.name:
        return f"the whole cluster, tier {room.tier}"
    return f"{room.tier_name}, tier {room.tier}" if room.tier_name else f"tier {room.tier}"


def needs_the_plugin() -> str:
    """A hard limit, where the plugin that keeps it is not configured."""
    return (
        "spec.networkTopology (hard) needs the plugin network-topology-aware, which is not configured: add it to "
        "volcano-scheduler.conf, or use mode soft"
    )


def unknown_tier(path: str, name: str, known: Sequence[str]) -> str:
    """`highestTierName` of the limit at `path` names no tier, so nothing is limited."""
    names = f"known are {summarize(known, most=10)}" if known else "no HyperNode has a tierName"
    return f"{path}.highestTierName {name} is ignored: no HyperNode has this tierName; {names}"


def placed_in(domain: str, pods: int, groups: Sequence[tuple[str, str]] = ()) -> str:
    """The domain of a job whose pods have places, and of its sub-groups with a limit of their own (name, domain)."""
    sentence = f"{counted(pods, 'pod')} placed in {domain}"
    listed = [f"sub-group {name} in {where}" for name, where in groups]
    return f"{sentence}: {summarize(listed, most=_MOST_SUB_GROUPS)}" if groups else sentence
