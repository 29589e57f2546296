"""`volcano-py replay`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from volcano_py.cli.printing.output import output_option

if TYPE_CHECKING:
    from volcano_py.capture.model import Capture
    from volcano_py.config import SchedulerConfiguration
    from volcano_py.framework.registry import Registry
    from volcano_py.record.replay import Cycle

EPILOG: Final = """\b
Examples:
  volcano-py replay /var/lib/volcano-py/record
  volcano-py replay record --with-scheduler-conf new.conf   # what it would have decided each time
  volcano-py replay record --at 412 explain podgroup train --namespace team
  volcano-py replay record --at 412 --capture then.capture  # for other verbs: --from then.capture
  volcano-py replay record --at 412 capture --anonymize for-a-bug-report.capture

The files are those of `volcano-py run --record`. Exits 0 when every cycle decides the same again, 3 when one does not,
and 1 or 2 on errors. With --with-scheduler-conf it exits 0, and with a verb it exits as the verb
does.
"""
ASKED: Final = ("explain", "what-if", "simulate", "capture")
"""Verbs that may be asked about a moment."""


class _Replay(click.Command):
    """Everything after the name of another verb is for that verb, options included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for place in range(1, len(args)):
            if args[place] in ASKED and not args[place - 1].startswith("-"):
                args = [*args[:place], "--", *args[place:]]
                break
        return super().parse_args(ctx, args)


@click.command(cls=_Replay, epilog=EPILOG)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.argument("verb", nargs=-1, metavar=f"[{'|'.join(ASKED)} ...]")
@click.option(
    "--with-scheduler-conf",
    "scheduler_conf",
    type=click.Path(path_type=Path),
    help="Decide by this configuration, and print what would have been different: waits, evictions, shares.",
)
@click.option(
    "--at",
    type=click.IntRange(min=1),
    metavar="CYCLE",
    help="Run a verb with its options on the cluster as this cycle found it.",
)
@click.option(
    "--capture",
    "capture_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the cluster into this file, for the option --from of explain, what-if and simulate (with --at).",
)
@click.option(
    "--export",
    "scenario_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the cluster as a scenario test into this file (with --at).",
)
@output_option()
@click.pass_context
def replay(
    context: click.Context,
    directory: Path,
    verb: tuple[str, ...],
    scheduler_conf: Path | None,
    at: int | None,
    capture_file: Path | None,
    scenario_file: Path | None,
    output: str,
) -> None:
    """Decide every cycle of a record again, and compare the effects one by one."""
    from volcano_py.cli.options.configuration import load_configuration
    from volcano_py.cli.printing.output import log_aside
    from volcano_py.record.moment import capture_at
    from volcano_py.record.segments import RecordError, segments
    from volcano_py.scheduler import builtin_registry

    log_aside()
    registry = builtin_registry().with_installed()
    if (at is None) != (capture_file is None and scenario_file is None and not verb):
        raise click.UsageError(f"--at needs --capture, --export or a verb ({', '.join(ASKED)}), and these need --at")
    if verb and verb[0] not in ASKED:
        raise click.UsageError(f"{verb[0]} cannot run on a moment of a record; {', '.join(ASKED)} can")
    try:
        if at is not None:
            found = capture_at(segments(directory), at)
            _write(found, at, capture_file, scenario_file, registry)
            if verb:
                _ask(context, found, verb, directory)
        elif scheduler_conf is not None:
            _compare(directory, registry, load_configuration(scheduler_conf, registry), output)
        elif not _repeat(directory, registry, output):
            sys.exit(3)
    except RecordError as error:
        raise click.ClickException(str(error)) from error


def _write(
    found: Capture, cycle: int, capture_file: Path | None, scenario_file: Path | None, registry: Registry
) -> None:
    from volcano_py.capture.file import written
    from volcano_py.capture.model import CaptureError
    from volcano_py.capture.start import configuration_of
    from volcano_py.record.moment import scenario_of

    try:
        if capture_file is not None:
            capture_file.write_bytes(written(found))
        if scenario_file is not None:
            title = f"cycle {cycle} of {found.moment}, from a record"
            text = scenario_of(found, title, configuration_of(found, registry), registry)
            scenario_file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    except CaptureError as error:
        raise click.ClickException(str(error)) from error


def _ask(context: click.Context, found: Capture, verb: tuple[str, ...], directory: Path) -> None:
    """Run the verb on the capture, and explain with the record."""
    from volcano_py.capture.file import written

    name, *arguments = verb
    all_verbs = context.parent
    assert all_verbs is not None
    assert isinstance(all_verbs.command, click.Group)
    command = all_verbs.command.get_command(all_verbs, name)
    assert command is not None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.capture"
        file.write_bytes(written(found))
        given = [*arguments, "--from", str(file), *(["--record", str(directory)] if name == "explain" else [])]
        with command.make_context(name, given, parent=all_verbs) as inner:
            command.invoke(inner)


def _repeat(directory: Path, registry: Registry, output: str) -> bool:
    """Whether there was no difference."""
    from volcano_py.cli.printing.output import print_data
    from volcano_py.cli.records.drawing import print_differences
    from volcano_py.cli.records.unanswered import Unanswered
    from volcano_py.record.replay import replay as cycles_of
    from volcano_py.record.segments import segments

    paths = segments(directory)
    cycles = effects = 0
    found: list[Cycle] = []
    unanswered = Unanswered()
    for cycle in cycles_of(paths, registry):
        unanswered.take(cycle)
        cycles, effects = cycles + 1, effects + len(cycle.recorded)
        if cycle.difference is not None:
            found.append(cycle)
    if output != "table":
        summary = {"segments": len(paths), "cycles": cycles, "effects": effects}
        differences = [_as_json(cycle) for cycle in found]
        print_data({**summary, "unanswered": unanswered.questions, "differences": differences}, output)
        return not found
    print_differences(found)
    plural = "" if len(found) <= 1 else "s"
    click.echo(f"{cycles} cycles with {effects} effects decided again: {len(found) or 'no'} difference{plural}")
    unanswered.print()
    return not found


def _as_json(cycle: Cycle) -> dict[str, Any]:
    from volcano_py.cli.records.drawing import text_of

    difference = cycle.difference
    assert difference is not None
    return {
        "cycle": cycle.number,
        "time": cycle.now,
        "effect": difference.place,
        "recorded": None if difference.recorded is None else text_of(difference.recorded),
        "decided": None if difference.decided is None else text_of(difference.decided),
    }


def _compare(directory: Path, registry: Registry, other: SchedulerConfiguration, output: str) -> None:
    from volcano_py.cli.printing.output import print_data
    from volcano_py.cli.records.drawing import print_comparison
    from volcano_py.cli.records.unanswered import Unanswered
    from volcano_py.record.comparison import Comparison
    from volcano_py.record.replay import replay as cycles_of
    from volcano_py.record.segments import segments

    comparison, unanswered = Comparison(), Unanswered()
    for cycle in cycles_of(segments(directory), registry, other):
        comparison.take(cycle)
        unanswered.take(cycle)
    if output == "table":
        print_comparison(comparison.found())
        unanswered.print()
    else:
        print_data(comparison.found().as_json(), output)
