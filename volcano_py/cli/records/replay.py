"""`volcano-py replay`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from volcano_py.cli.printing.output import output_option

if TYPE_CHECKING:
    from volcano_py.config import SchedulerConfiguration
    from volcano_py.framework.registry import Registry
    from volcano_py.record.replay import Cycle, Encoded

EPILOG: Final = """\b
Examples:
  volcano-py replay /var/lib/volcano-py/record
  volcano-py replay record --scheduler-conf new.conf        # what it would have decided in each moment
  volcano-py replay record --at 412 --capture then.capture  # for explain, what-if and simulate: --from then.capture

The files are those of `volcano-py run --record`. Exits 0 when every cycle decides the same again, 3 when one does not,
and 1 or 2 on errors. With --scheduler-conf it exits 0.
"""
_MOST_SHOWN: Final = 10


@click.command(epilog=EPILOG)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path),
    help="Decide by this configuration, and print which pods it would have bound or evicted, and what would wait.",
)
@click.option("--at", type=click.IntRange(min=1), metavar="CYCLE", help="The cluster as this cycle found it.")
@click.option(
    "--capture",
    "capture_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it into this file, for the option --from of explain, what-if and simulate (with --at).",
)
@click.option(
    "--export",
    "scenario_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it as a scenario test into this file (with --at).",
)
@output_option()
def replay(
    directory: Path,
    scheduler_conf: Path | None,
    at: int | None,
    capture_file: Path | None,
    scenario_file: Path | None,
    output: str,
) -> None:
    """Decide every cycle of a record again, and compare the effects one by one."""
    from volcano_py.cli.options.configuration import load_configuration
    from volcano_py.cli.printing.output import log_aside
    from volcano_py.record.segments import RecordError
    from volcano_py.scheduler import builtin_registry

    log_aside()
    registry = builtin_registry().with_installed()
    if (at is None) != (capture_file is None and scenario_file is None):
        raise click.UsageError("--at needs --capture or --export, and they need --at")
    try:
        if at is not None:
            _write(directory, at, capture_file, scenario_file, registry)
        elif scheduler_conf is not None:
            _compare(directory, registry, load_configuration(scheduler_conf, registry), output)
        elif not _repeat(directory, registry, output):
            sys.exit(3)
    except RecordError as error:
        raise click.ClickException(str(error)) from error


def _write(
    directory: Path, cycle: int, capture_file: Path | None, scenario_file: Path | None, registry: Registry
) -> None:
    from volcano_py.capture.file import written
    from volcano_py.capture.start import configuration_of
    from volcano_py.record.moment import capture_at, scenario_of
    from volcano_py.record.segments import segments

    found = capture_at(segments(directory), cycle)
    try:
        if capture_file is not None:
            capture_file.write_bytes(written(found))
        if scenario_file is not None:
            title = f"cycle {cycle} of {found.moment}, from a record"
            text = scenario_of(found, title, configuration_of(found, registry), registry)
            scenario_file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error


def _repeat(directory: Path, registry: Registry, output: str) -> bool:
    """Whether there was no difference."""
    from volcano_py.cli.printing.output import print_data
    from volcano_py.record.replay import replay as cycles_of
    from volcano_py.record.segments import segments

    paths = segments(directory)
    cycles = effects = 0
    found: list[Cycle] = []
    for cycle in cycles_of(paths, registry):
        cycles, effects = cycles + 1, effects + len(cycle.recorded)
        if cycle.difference is not None:
            found.append(cycle)
    if output != "table":
        summary = {"segments": len(paths), "cycles": cycles, "effects": effects}
        print_data({**summary, "differences": [_as_json(cycle) for cycle in found]}, output)
        return not found
    for cycle in found[:_MOST_SHOWN]:
        _print_difference(cycle)
    if len(found) > _MOST_SHOWN:
        click.echo(f"and {len(found) - _MOST_SHOWN} more cycles that differ")
    if any(cycle.is_after_cut for cycle in found):
        click.echo("The record begins in the middle of a run: what plugins remembered from before is not in it.")
    click.echo(f"{cycles} cycles with {effects} effects decided again: {len(found) or 'no'} difference{_s(len(found))}")
    return not found


def _s(count: int) -> str:
    return "" if count <= 1 else "s"


def _as_json(cycle: Cycle) -> dict[str, Any]:
    difference = cycle.difference
    assert difference is not None
    return {
        "cycle": cycle.number,
        "time": cycle.now,
        "effect": difference.place,
        "recorded": None if difference.recorded is None else _text(difference.recorded),
        "decided": None if difference.decided is None else _text(difference.decided),
    }


def _print_difference(cycle: Cycle) -> None:
    from volcano_py.cli.printing.one_line import plain

    difference = cycle.difference
    assert difference is not None
    click.echo(f"cycle {cycle.number} of {_moment(cycle.now)}: effect {difference.place + 1} differs")
    for side, effect in (("recorded", difference.recorded), ("decided", difference.decided)):
        click.echo(plain(f"  {side}: {'no more effects' if effect is None else _text(effect)}"))


def _text(effect: Encoded) -> str:
    return f"{effect[0]} {effect[1].decode()}"


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _compare(directory: Path, registry: Registry, other: SchedulerConfiguration, output: str) -> None:
    from volcano_py.cli.printing.output import print_data
    from volcano_py.record.comparison import Comparison
    from volcano_py.record.replay import replay as cycles_of
    from volcano_py.record.segments import segments

    comparison = Comparison()
    for cycle in cycles_of(segments(directory), registry, other):
        comparison.take(cycle)
    found = comparison.found()
    if output != "table":
        print_data(found, output)
        return
    _print_comparison(found)


def _print_comparison(found: dict[str, Any]) -> None:
    for key, title in (
        ("boundToo", "bound only by the other configuration"),
        ("notBound", "bound only in the record"),
        ("evictedToo", "evicted only by the other configuration"),
        ("notEvicted", "evicted only in the record"),
    ):
        for pod, at in found[key].items():
            click.echo(f"{_moment(at)} {pod} {title}")
    for pod, (recorded, decided) in found["boundAtAnotherTime"].items():
        click.echo(f"{_moment(decided)} {pod} bound by the other configuration; in the record at {_moment(recorded)}")
    for name, (recorded, decided) in found["waits"].items():
        click.echo(f"at the end {name}: {recorded or 'does not wait'}; with the other: {decided or 'does not wait'}")
    for name, (recorded, decided) in found["deserved"].items():
        click.echo(f"at the end queue {name} deserves {_amounts(recorded)}; with the other: {_amounts(decided)}")
    click.echo(f"{found['cycles']} cycles decided by the other configuration")


def _amounts(amounts: dict[str, int]) -> str:
    from volcano_py.state.table.units import canonical

    return ", ".join(f"{name} {canonical(name, units)}" for name, units in sorted(amounts.items())) or "nothing"
