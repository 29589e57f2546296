"""What the events of evicted pods say: what they go for, what goes with them, and which plugins allowed it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from volcano_py.api.go_values import format_duration
from volcano_py.api.wording.amounts import number
from volcano_py.api.wording.explain_evictions import Standing
from volcano_py.api.wording.summarize import counted


class Party(NamedTuple):
    """A pod or a PodGroup (namespace/name), its queue and its priority."""

    key: str
    queue: str
    priority: int


def makes_room(victim: Party, pod: Party, *, node: str) -> str:
    """Why a pod is evicted for another one."""
    return f"{_versus(victim, pod)} on node {node}"


def gang_makes_room(gang: Party, pod: Party, *, pods: int, minimum: int) -> str:
    """Why all that a gang holds is evicted for a pod of another job: it cannot run with less."""
    return f"{_versus(gang, pod)}: the whole gang is evicted, {pods} pods (minimum {minimum})"


def sub_group_makes_room(gang: Party, pod: Party, *, name: str, pods: int) -> str:
    """Why all pods of a sub-group are evicted for a pod of another job: the gang can run without it."""
    return f"{_versus(gang, pod)}: sub-group {name} is evicted as a whole, {counted(pods, 'pod')}"


def deadlocked_gang_makes_room(gang: Party, pod: Party, *, pods: int, minimum: int) -> str:
    """Why an incomplete gang is evicted for another one: each holds places that the other needs."""
    why = "both gangs are incomplete and each holds places that the other needs, so the last in order is evicted"
    return f"{_versus(gang, pod)}: {why}, {pods} pod{'s' * (pods != 1)} (minimum {minimum})"


def allowed_by(plugins: Sequence[str], standing: Standing | None) -> str:
    """The plugins that gave the pods up, and what their queue held beyond what it deserves."""
    if not plugins:
        return ""
    because = ""
    if standing is not None and standing.deserved is not None:
        held, deserved = (number(standing.resource, units) for units in (standing.held, standing.deserved))
        because = f", because queue {standing.queue} held {held} {standing.resource} and deserved {deserved}"
    return f"; allowed by {', '.join(plugins)}{because}"


def comes_back(claimant: str, seconds: float) -> str:
    """When the room is free again: the pod that gets it declares how long it runs."""
    length = format_duration(timedelta(seconds=seconds))
    return f"; the room is free again when {claimant} ends (declared run time: {length})"


def _versus(victim: Party, pod: Party) -> str:
    theirs, its = (f" in queue {victim.queue}", f" in queue {pod.queue}") if victim.queue != pod.queue else ("", "")
    where = "" if theirs else f" in queue {pod.queue}"
    return (
        f"{victim.key} (priority {victim.priority}){theirs} makes room for {pod.key} (priority {pod.priority})"
        f"{its}{where}"
    )
