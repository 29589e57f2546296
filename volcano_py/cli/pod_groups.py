"""`volcano-py podgroup`: PodGroups of a queue, and why they wait."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import click
import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import DEFAULT_QUEUE, SCHEDULED, SCHEDULING_API, UNSCHEDULABLE
from volcano_py.api.objects import Condition, PodGroup
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.owned import as_argument
from volcano_py.cli.options.listing import Listed, list_options
from volcano_py.cli.options.live_names import QUEUES
from volcano_py.cli.printing.listing import Cells, age_text, phase_text
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.show import Shown

_SETTLED: Final = frozenset({"Running", "Completed"})

EPILOG = """\b
Examples:
  volcano-py podgroup list --all-namespaces --queue team-a
  volcano-py podgroup list --namespace research --watch
  volcano-py podgroup list -A -o json
"""


@click.group()
def podgroup() -> None:
    """Show PodGroups."""


@podgroup.command("list", epilog=EPILOG)
@click.option("--queue", "-q", default="", shell_complete=QUEUES, help="Only PodGroups of this queue.")
@list_options
def list_(queue: str, listed: Listed) -> None:
    """List PodGroups with their phase, and what they wait for."""
    listed.show(lambda _, namespace: _shown(namespace, queue))


def pod_group_row(obj: JsonObject, now: float) -> Cells:
    """A PodGroup's cells under `HEADER`; `now` is in seconds since the epoch.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    group = msgspec.convert(obj, PodGroup)
    status = group.status
    return (
        group.metadata.namespace,
        group.metadata.name,
        plain(owner_of(group)),
        plain(queue_of_group(obj)),
        phase_text(status.phase or "Pending"),
        str(group.spec.min_member),
        str(status.running),
        str(status.succeeded),
        str(status.failed),
        age_of(group.metadata.creation_timestamp, now),
        plain(why_it_waits(group)) or "-",
    )


HEADER: Final = (
    "NAMESPACE", "NAME", "OWNER", "QUEUE", "PHASE", "MIN MEMBER", "RUNNING", "SUCCEEDED", "FAILED", "AGE",
    "WHY IT WAITS",
)  # fmt: skip
SPARE: Final = ("NAMESPACE", "FAILED", "SUCCEEDED", "MIN MEMBER", "RUNNING", "QUEUE")
"""What a narrow terminal does without, the first one first. OWNER stays: names such as podgroup-UID say nothing."""
_PHASE_COLUMN: Final = HEADER.index("PHASE")


def owner_of(group: PodGroup) -> str:
    """What it was created for, such as `Job/train`; `-` for one that a user created."""
    return as_argument(group.metadata.controller) or "-"


def queue_of_group(obj: JsonObject) -> str:
    """Where the PodGroup is charged, also one that cannot be read as a whole."""
    return (obj.get("spec") or {}).get("queue") or DEFAULT_QUEUE


def why_it_waits(group: PodGroup) -> str:
    """What its condition Unschedulable says as long as it is true; "" for a PodGroup that runs or is done, unless it
    runs and its queue does not exist."""
    status = group.status
    found = next((each for each in status.conditions if each.type == UNSCHEDULABLE and each.status == "True"), None)
    if found is None:
        return ""
    if status.phase in _SETTLED:
        has_no_queue = status.phase == "Running" and is_about_missing_queue(found.message)
        return found.message if has_no_queue and not _is_past(found, status.conditions) else ""
    return found.message or found.reason


def is_about_missing_queue(message: str) -> bool:
    """Whether the message of a condition is that the queue does not exist."""
    return message.startswith(f"{Reason.QUEUE_NOT_FOUND}:")


def _is_past(found: Condition, conditions: Sequence[Condition]) -> bool:
    """Whether the PodGroup was well after that: in the same second, if it is said behind it."""
    since, place = found.last_transition_time, conditions.index(found)
    return since is not None and any(
        each.last_transition_time is not None and (each.last_transition_time, at) > (since, place)
        for at, each in enumerate(conditions)
        if each.type == SCHEDULED
    )


def age_of(created: datetime | None, now: float) -> str:
    """How long ago that was at `now` (seconds since the epoch)."""
    return age_text(None if created is None else datetime.fromtimestamp(now, UTC) - created)


def _shown(namespace: str, queue: str) -> Shown:
    """PodGroups of a namespace ("": of all)."""
    from volcano_py.cluster.kubernetes.watching.kinds import POD_GROUP
    from volcano_py.operator.kube_api import pod_group_path

    return Shown(
        api_version=SCHEDULING_API,
        kind="PodGroup",
        path=pod_group_path(namespace) if namespace else POD_GROUP.path,
        header=HEADER,
        row=pod_group_row,
        state_column=_PHASE_COLUMN,
        numbers=("MIN MEMBER", "RUNNING", "SUCCEEDED", "FAILED"),
        spare=SPARE,
        flows=True,
        keep=lambda obj: not queue or queue_of_group(obj) == queue,
    )
