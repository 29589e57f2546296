"""What is said of places that are held. Times are those of the decision, so that sentences last as long as it does."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from volcano_py.api.wording.explain import held_for
from volcano_py.plugins.reservation.places import Places

_SHOWN_NODES: Final = 4
_MINUTE: Final = 60


def refusal(job: str, places: Places) -> str:
    """What a held node says."""
    return held_for(job, f"which is to start by {_moment(places.start)}" if places.is_foreseen else "")


def declare_runtimes(job: str) -> str:
    """The advice for a job that is refused and does not say how long it runs."""
    return (
        f"Jobs that end before {job} starts may use held nodes, if they say how long they run: set "
        "activeDeadlineSeconds of the pod, or the annotation volcano.sh/running-estimate of the PodGroup"
    )


def place_held(places: Places | None) -> str:
    """The condition of the PodGroup."""
    if places is None:
        return "it is admitted next, though the cluster is full"
    names = sorted(places.amounts)
    more = len(names) - _SHOWN_NODES
    listed = ", ".join(names[:_SHOWN_NODES]) + (f" and {more} more" if more > 0 else "")
    when = f"it is to start by {_moment(places.start)}" if places.is_foreseen else "it is not known when they are free"
    return f"{len(names)} node{'' if len(names) == 1 else 's'} held ({listed}); {when}"


def lapsed() -> str:
    return "it did not start while a place was held for it; other jobs have their turn before it"


def started() -> str:
    return "it has started"


def gave_way(job: str | None) -> str:
    return "no place can be held for it now" if job is None else f"a place is held for {job}, which goes first"


def _moment(seconds: float) -> str:
    """The minute by which it is."""
    return datetime.fromtimestamp(math.ceil(seconds / _MINUTE) * _MINUTE, UTC).strftime("%Y-%m-%d %H:%M UTC")
