"""What `replay` has found, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from volcano_py.api.wording.owned import all_called
from volcano_py.cli.printing.listing import moment
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.output import console
from volcano_py.cli.printing.tables import titled
from volcano_py.record.comparison import Compared, Eviction, Fate, Share, Wait
from volcano_py.record.replay import Cycle, Encoded
from volcano_py.state.table.units import canonical

_MOST_SHOWN: Final = 10


def text_of(effect: Encoded) -> str:
    """The name of the effect's type, and the effect as JSON."""
    return f"{effect[0]} {effect[1].decode()}"


def print_differences(found: Sequence[Cycle]) -> None:
    """The first of the cycles that differ, each with its first effect that does."""
    for cycle in found[:_MOST_SHOWN]:
        difference = cycle.difference
        assert difference is not None
        click.echo(
            f"cycle {cycle.number} of {moment(cycle.now, 'milliseconds')}: effect {difference.place + 1} differs"
        )
        for side, effect in (("recorded", difference.recorded), ("decided", difference.decided)):
            click.echo(plain(f"  {side}: {'no more effects' if effect is None else text_of(effect)}"))
    if len(found) > _MOST_SHOWN:
        click.echo(f"and {len(found) - _MOST_SHOWN} more cycles that differ")
    if any(cycle.is_after_cut for cycle in found):
        click.echo("The record begins in the middle of a run, so the order of equal objects is not in it.")


def print_comparison(found: Compared) -> None:
    """Only what differs; a sentence when nothing does."""
    called = all_called({each.pod_group: each.owner for each in found.waits})
    waits = [_wait(each, called[each.pod_group]) for each in found.waits]
    tables = (
        titled("Waits", ("PodGroup", "Record", "Other", "Why it waits"), waits),
        titled("Evicted only by the other", ("Pod", "Time", "By", "Why"), [_evicted(each) for each in found.evicted]),
        titled("Evicted only in the record", ("Pod", "Time", "By", "Why"), [_evicted(each) for each in found.spared]),
        titled(
            "Shares, where they are furthest apart",
            ("Queue", "Amount", "Time", "Record", "Other"),
            [_share(each) for each in found.shares],
        ),
    )
    for table in tables:
        if table.row_count:
            console().print(table)
    differs = any(table.row_count for table in tables)
    decided = f"{found.cycles} cycle{'' if found.cycles == 1 else 's'} decided by the other configuration"
    click.echo(decided if differs else f"{decided}: no difference")


def _wait(wait: Wait, called: str) -> tuple[str, ...]:
    return called, _fate(wait.recorded), _fate(wait.other), wait.other.message or wait.recorded.message


def _fate(fate: Fate) -> str:
    times = dict.fromkeys((moment(fate.first), moment(fate.last)))
    bound = f"{fate.bound} bound {' to '.join(times)}" if fate.bound else ""
    return ", ".join(filter(None, (bound, fate.reason and f"waits: {fate.reason}"))) or "-"


def _evicted(each: Eviction) -> tuple[str, ...]:
    return each.pod, moment(each.at), each.action, each.why


def _share(each: Share) -> tuple[str, ...]:
    sides = (canonical(each.resource, units) for units in (each.recorded, each.other))
    return each.queue, f"deserved {each.resource}", moment(each.at), *sides
