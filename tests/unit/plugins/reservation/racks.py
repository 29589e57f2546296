"""Racks with busy nodes, and what is held in them."""

from __future__ import annotations

from typing import Final

from tests.support.timeline import Timeline, job
from volcano_py.api.objects import ApiObject

TIERS: Final = [["priority", "gang", "reservation"], ["predicates", "nodeorder", "network-topology-aware"]]


def busy(**runs: int | None) -> list[ApiObject]:
    """Node → for how long the pod there runs that fills it."""
    return [each for name, seconds in runs.items() for each in job(f"on-{name}", cpu="4", on=[name], runs=seconds)]


def held(timeline: Timeline, group: str = "large") -> str:
    """The message of the condition PlaceHeld; empty without it."""
    return (timeline.condition(group) or ("", "", ""))[2]
