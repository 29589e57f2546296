"""`volcano-py evictions`: what was evicted for what, as the events say, or a record."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from volcano_py.api.effects import JsonObject
from volcano_py.cli.options.durations import DURATION
from volcano_py.cli.options.listing import Listed, list_options
from volcano_py.cli.pod_groups import age_of
from volcano_py.cli.printing.listing import Cells
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.show import Shown

EPILOG = """\b
Examples:
  volcano-py evictions --namespace research
  volcano-py evictions --all-namespaces --since 1h
  volcano-py evictions -A --watch
  volcano-py evictions -A -o json
  volcano-py evictions --record /var/lib/volcano-py/record --since 12h

The API server keeps events for an hour, unless it is configured otherwise. A record also has the queues of both sides,
and what became of each eviction.
"""


@click.command(epilog=EPILOG)
@click.option("--since", type=DURATION, help="Only evictions of the last 30m, for example. [default: all]")
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="List the evictions in this record of `volcano-py run --record`, not those in the cluster's events.",
)
@list_options
def evictions(since: float | None, record: Path | None, listed: Listed) -> None:
    """List the pods that the scheduler has evicted: when, for which pod, by which action, and why that was allowed."""
    begin = time.time() - since if since is not None else 0.0
    if record is not None:
        if listed.watch:
            raise click.UsageError("--watch shows events of the cluster; leave it out with --record")
        _print_recorded(record, listed.namespace or "", begin, listed.output)
    else:
        listed.show(lambda _, namespace: _shown(namespace, begin))


HEADER: Final = ("NAMESPACE", "POD", "AGE", "ACTION", "FOR", "WHY")
SPARE: Final = ("NAMESPACE", "ACTION")
"""What a narrow terminal does without, the first one first."""


def eviction_row(event: JsonObject, now: float) -> Cells:
    """The cells of an event under `HEADER`; `now` is in seconds since the epoch."""
    victim, claimant = event["involvedObject"], event.get("related") or {}
    action, _, why = event.get("message", "").partition(": ")
    return (
        plain(victim.get("namespace", "")),
        plain(victim.get("name", "")),
        age_of(_time_of(event), now),
        plain(event.get("action") or action),
        plain(f"{claimant.get('namespace', '')}/{claimant.get('name', '')}") if claimant else "-",
        plain(why),
    )


def _time_of(event: JsonObject) -> datetime | None:
    """When it was last seen."""
    text = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp")
    return datetime.fromisoformat(text) if text else None


def _moment(event: JsonObject) -> float:
    """The same in seconds since the epoch; 0 when it does not say."""
    at = _time_of(event)
    return at.timestamp() if at is not None else 0.0


def _order(event: JsonObject) -> Any:
    """The oldest first."""
    return _moment(event), event["involvedObject"].get("namespace", ""), event["involvedObject"].get("name", "")


def _shown(namespace: str, begin: float) -> Shown:
    """Evictions in a namespace ("": in all) since `begin`, in seconds since the epoch."""
    from volcano_py.cluster.kubernetes.http.paths import ApiPath, field_selector
    from volcano_py.cluster.kubernetes.writing.evictor import EVENT_REASON

    return Shown(
        api_version="v1",
        kind="Event",
        noun="eviction",
        path=ApiPath("v1", "events", namespace),
        header=HEADER,
        row=eviction_row,
        state_column=HEADER.index("ACTION"),
        spare=SPARE,
        flows=True,
        params={"fieldSelector": field_selector({"reason": EVENT_REASON, "involvedObject.kind": "Pod"})},
        keep=lambda event: _moment(event) >= begin,
        order=_order,
    )


RECORDED: Final = ("TIME", "POD", "QUEUE", "ACTION", "FOR", "OF QUEUE", "OUTCOME", "WHY")


def _print_recorded(directory: Path, namespace: str, begin: float, output: str) -> None:
    """Evictions of a record in a namespace ("": in all) since `begin`, in seconds since the epoch."""
    import msgspec

    from volcano_py.cli.printing.listing import Listing, moment
    from volcano_py.cli.printing.output import console, print_data
    from volcano_py.record.evictions import of_evictions
    from volcano_py.record.segments import RecordError, segments

    try:
        found = of_evictions(segments(directory))
    except RecordError as error:
        raise click.ClickException(str(error)) from error
    kept = [each for each in found if each.at >= begin and (not namespace or each.pod.startswith(f"{namespace}/"))]
    if output != "table":
        print_data([{**msgspec.to_builtins(each), "at": moment(each.at)} for each in kept], output)
    elif not kept:
        click.echo("There is no eviction to show.", err=True)
    else:
        rows = [
            (
                moment(each.at),
                each.pod,
                each.queue,
                each.action,
                each.claimant,
                each.claimant_queue,
                each.outcome,
                each.why,
            )
            for each in kept
        ]
        listing = Listing(console(), RECORDED, spare=("QUEUE", "OF QUEUE", "ACTION"), flows=True)
        listing.print([[plain(cell) or "-" for cell in row] for row in rows])
