"""Messages about held places. Their times are those of the decision, so a message stays while the decision does."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from volcano_py.api.wording.explain_nodes import held_for
from volcano_py.plugins.reservation.places import Places

_SHOWN_NODES: Final = 4
_MINUTE: Final = 60
_UNFORESEEN: Final = "it is not known when these nodes will be free"


def refusal(job: str, places: Places) -> str:
    """What a held node says."""
    return held_for(job, expected_start(places))


def expected_start(places: Places) -> str:
    """What may follow the job's name; empty if its start is not foreseen."""
    return f"which is expected to start by {_moment(places.start)}" if places.is_foreseen else ""


def declare_runtimes(job: str) -> str:
    """The advice for a job that is refused and does not declare how long it runs."""
    return (
        f"Jobs that end before {job} starts may use held nodes, if they declare how long they run: set "
        "activeDeadlineSeconds of the pod, or the annotation volcano.sh/running-estimate of the PodGroup"
    )


def place_held(places: Places | None) -> str:
    """The condition of the PodGroup."""
    if places is None:
        return "the job is admitted next, although the cluster is full"
    names = sorted(places.amounts)
    more = len(names) - _SHOWN_NODES
    listed = ", ".join(names[:_SHOWN_NODES]) + (f" and {more} more" if more > 0 else "")
    when = f"the job is expected to start by {_moment(places.start)}" if places.is_foreseen else _UNFORESEEN
    return f"{len(names)} node{'' if len(names) == 1 else 's'} held ({listed}); {when}"


def lapsed() -> str:
    return "the job did not start while places were held for it; places are held for other jobs first"


def started() -> str:
    return "the job has started"


def gave_way(job: str | None) -> str:
    return "no nodes can be held for the job now" if job is None else f"nodes are held for {job}, which comes first"


def _moment(seconds: float) -> str:
    """The full minute that follows."""
    return datetime.fromtimestamp(math.ceil(seconds / _MINUTE) * _MINUTE, UTC).strftime("%Y-%m-%d %H:%M UTC")
