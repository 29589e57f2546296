"""`volcano-py simulate`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from volcano_py.api.go_values import format_duration
from volcano_py.capture.start import simulation_of
from volcano_py.cli.options.captured import Source, captured_configuration, source_options
from volcano_py.cli.options.configuration import load_configuration
from volcano_py.cli.options.durations import DURATION
from volcano_py.cli.options.manifests import read_documents
from volcano_py.cli.printing.ignored_fields import ignored_lines
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.output import console, log_aside, output_option, print_data
from volcano_py.cluster.manifests import Document, ManifestError, Stored, not_simulated, stored
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.play import Play, PlayResult
from volcano_py.scheduler import builtin_registry
from volcano_py.simulation import RefusedJob, Simulation, SimulationResult

EPILOG = """\b
Examples:
  volcano-py simulate --filename examples/sample
  volcano-py simulate -f nodes.yaml -f jobs/ --scheduler-conf volcano-scheduler.conf --output json
  volcano-py simulate --from-cluster              # what the live scheduler would do next
  volcano-py simulate --from cluster.capture --scheduler-conf new.conf

  volcano-py simulate -f nodes.yaml -f stream.yaml --play 2h

A cycle is one second of virtual time. Between cycles bound pods run and evicted pods are gone. With --play, objects
are created at their creation times and pods end; then what was used and how long each object waited is printed.
"""


@click.command(epilog=EPILOG)
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="Manifest file or folder (repeatable); - reads standard input.",
)
@source_options
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="volcano-scheduler.conf, or a ConfigMap with one in it. [default: that of the cluster; with --filename the"
    " built-in configuration]",
)
@click.option("--cycles", type=click.IntRange(min=0), help="Run exactly this many cycles.")
@click.option("--until-stable", is_flag=True, help="Run until a cycle changes nothing. [default]")
@click.option(
    "--play",
    type=DURATION,
    help="Let this much time pass, such as 2h: objects are created at their creationTimestamp, and pods end after "
    "their declared runtime.",
)
@output_option()
def simulate(
    filenames: tuple[Path, ...],
    source: Source,
    scheduler_conf: Path | None,
    cycles: int | None,
    until_stable: bool,
    play: float | None,
    output: str,
) -> None:
    """Run the same scheduler over manifests or a copy of a cluster in memory, with virtual time and no network.

    Reads nodes, namespaces, pods and their owners, PodGroups, queues, Volcano Jobs, ResourceQuotas, PriorityClasses,
    PodDisruptionBudgets, services, volumes with their claims, classes and drivers, and NodeMetrics from multi-document
    YAML; other kinds are ignored.
    """
    if (cycles is not None) + until_stable + (play is not None) > 1:
        raise click.UsageError("--cycles, --until-stable and --play exclude each other")
    if bool(filenames) == source.is_given:
        raise click.UsageError(
            "name what to simulate: manifests with --filename, or a cluster with --from or --from-cluster"
        )
    if source.is_given and play is not None:
        raise click.UsageError("--play needs manifests: name them with --filename")
    log_aside()
    registry = builtin_registry().with_installed()
    documents: list[Document] = []
    items: list[Stored] = []
    played: PlayResult | None = None
    if source.is_given:
        capture = source.capture()
        result = simulation_of(capture, captured_configuration(capture, scheduler_conf, registry), registry).run(cycles)
    else:
        configuration = load_configuration(scheduler_conf, registry)
        documents = read_documents(filenames)
        try:
            items = stored(documents)
            played, result = _of_manifests(items, configuration, registry, source.rules(), play=play, cycles=cycles)
        except ManifestError as error:
            raise click.ClickException(str(error)) from error
    if output == "table":
        if played is None:
            _print_tables(result)
        else:
            _print_play(played)
        for line in ignored_lines(result.reports[-1].queues.values() if result.reports else ()):
            console().print(line)
        if others := not_simulated(documents, items):
            click.echo(f"Not simulated: {plain(', '.join(others))}")
    else:
        print_data(result.as_json() if played is None else played.as_json(), output)
    if cycles is None and not result.settled:
        raise click.ClickException(f"the cluster had not settled after {result.cycles} cycles")


def _of_manifests(
    items: list[Stored],
    configuration: SchedulerConfiguration,
    registry: Registry,
    rules: GroupRules,
    *,
    play: float | None,
    cycles: int | None,
) -> tuple[PlayResult | None, SimulationResult]:
    if play is None:
        return None, Simulation(items, configuration, registry, rules=rules).run(cycles)
    played = Play(items, configuration, registry, rules=rules).run(play)
    return played, played.simulation


def _print_tables(result: SimulationResult) -> None:
    queues = _table("Queues", "Queue", "Allocated", "Deserved", "Share")
    for name, queue in result.queues.items():
        _add(queues, name, _amounts(queue["allocated"]), _amounts(queue["deserved"]), f"{queue['share']:.2f}")
    reasons = {name: _why(group, result.refused_jobs.get(name)) for name, group in result.pod_groups.items()}
    groups = _table("PodGroups", "PodGroup", "Phase", "Why")
    for name, group in result.pod_groups.items():
        _add(groups, result.called[name], group["phase"], reasons[name])
    for name, job in result.refused_jobs.items():
        if name not in result.pod_groups:
            _add(groups, result.called[name], job.phase, _refused(job))
    pods = _table("Pods", "Pod", "Node", "Why it waits")
    for name, node in result.binds.items():
        _add(pods, name, node, "")
    for name, message in result.unschedulable.items():
        why = _unless_said_before(message, reasons.get(result.groups[name], ""))
        _add(pods, name, result.pipelined.get(name, ""), why)
    out = console()
    for table in (queues, groups, pods):
        if table.row_count:
            out.print(table)
    evicted = f", {len(result.evictions)} evictions: {', '.join(result.evictions)}" if result.evictions else ""
    counts = f"{result.cycles} cycles, {len(result.binds)} bindings, {len(result.unschedulable)} waiting"
    out.print(Text(plain(counts + evicted)))
    for plugin, why in _remarks(result).items():
        out.print(Text(plain(f"{plugin} did nothing: {why}")))


def _remarks(result: SimulationResult) -> dict[str, str]:
    """Plugin → why it did nothing, of those that never did anything."""
    said: dict[str, list[str]] = {}
    for report in result.reports:
        for plugin, remark in report.remarks.items():
            said.setdefault(plugin, []).append(remark)
    return {plugin: remarks[-1] for plugin, remarks in said.items() if all(remarks)}


def _print_play(played: PlayResult) -> None:
    work = _table("Work", "Object", "Came", "Started", "Ended", "Mean wait", "Longest wait")
    for each in played.work:
        waits = (_time(each.mean_wait), _time(each.longest_wait))
        _add(work, each.name, str(each.came), str(each.started), str(each.ended), *waits)
    used = ", ".join(f"{share:.0%} of {name}" for name, share in played.utilisation.items())
    out = console()
    out.print(work)
    out.print(Text(plain(f"In use over {_time(played.seconds)}: {used or 'nothing'}")))


def _time(seconds: float) -> str:
    return format_duration(timedelta(seconds=round(seconds)))


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _add(table: Table, *cells: str) -> None:
    """A row. Values from manifests are plain text: brackets and colons are no markup of rich."""
    table.add_row(*(Text(plain(cell)) for cell in cells))


def _amounts(amounts: dict[str, str]) -> str:
    return ", ".join(f"{value} {name}" for name, value in amounts.items()) or "-"


def _why(group: Mapping[str, Any], refused: RefusedJob | None) -> str:
    if group["phase"] in ("Running", "Completed"):
        return ""
    if refused is not None:
        return _refused(refused)
    conditions = group["conditions"]
    return next((each.get("message", "") for each in conditions if each["type"] == "Unschedulable"), "")


def _refused(job: RefusedJob) -> str:
    return f"{job.why.reason}: {job.why.message}" if job.why.message else job.why.reason


def _unless_said_before(message: str, of_group: str) -> str:
    """A pod's message, or its code alone where the table of PodGroups has the sentence."""
    code, _, sentence = message.partition(": ")
    return f"{code}: see its PodGroup" if sentence and sentence in of_group else message
