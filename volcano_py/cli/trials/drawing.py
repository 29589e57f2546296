"""What a trial has found, as tables."""

from __future__ import annotations

import click

from volcano_py.api.wording.owned import all_called
from volcano_py.cli.printing.output import console
from volcano_py.cli.printing.tables import titled
from volcano_py.what_if.difference import Amount, Difference, Eviction, Finding, Work
from volcano_py.what_if.outcome import Waiting


def print_difference(found: Difference, cycles: int) -> None:
    """Only what differs; a sentence when nothing does."""
    called = all_called({each.name: each.owner for each in found.work})
    tables = (
        titled(
            "Work",
            ("PodGroup", "Without", "With", "Why it waits"),
            [_row(each, called[each.name]) for each in sorted(found.work, key=lambda work: called[work.name])],
        ),
        titled("Evicted", ("Pod", "By", "Why"), [_evicted(each) for each in found.evictions]),
        titled("No longer evicted", ("Pod", "By", "Why"), [_evicted(each) for each in found.spared]),
        titled(
            "Queues",
            ("Queue", "Amount", "Without", "With"),
            [(name, *_amount(each)) for name, amounts in found.queues.items() for each in amounts],
        ),
        titled("Idle", ("Resource", "Without", "With"), [(each.resource, *each.readable) for each in found.idle]),
    )
    out = console()
    for table in tables:
        if table.row_count:
            out.print(table)
    if Finding.CHANGES not in found.findings:
        click.echo("Nothing changes.")
    else:
        click.echo(_in_short(found))
    if not found.settled:
        click.echo(f"The cluster had not settled after {cycles} cycles: more may change.")


def _in_short(found: Difference) -> str:
    """The numbers of pods that matter most."""
    starts, stops = sum(work.starts for work in found.work), sum(work.stops for work in found.work)
    more = sum(max(work.waiting[1] - work.waiting[0], 0) for work in found.work)
    counts = (
        (starts, "newly placed"),
        (stops, "no longer placed"),
        (more, "more waiting"),
        (len(found.evictions), "more evicted"),
        (len(found.spared), "fewer evicted"),
    )
    return "Pods: " + (", ".join(f"{count} {what}" for count, what in counts if count) or "no difference")


def _row(work: Work, called: str) -> tuple[str, ...]:
    without, with_ = (
        _state(placed, waiting, why)
        for placed, waiting, why in zip(work.placed, work.waiting, work.reasons, strict=True)
    )
    return called, without, with_, work.reasons[1].message if work.reasons[1] is not None else ""


def _state(placed: int, waiting: int, why: Waiting | None) -> str:
    if not placed + waiting:
        return "-"
    code = f": {why.reason}" if why is not None and why.reason else ""
    return ", ".join(filter(None, (f"{placed} placed" if placed else "", f"{waiting} wait{code}" if waiting else "")))


def _evicted(each: Eviction) -> tuple[str, ...]:
    return each.pod, each.action, each.why


def _amount(each: Amount) -> tuple[str, ...]:
    return " ".join(filter(None, (each.field, each.resource))), *each.readable
