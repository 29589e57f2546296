"""`volcano-py bench`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from volcano_py.bench.decide import Run, run_decide
from volcano_py.bench.workload import Workload
from volcano_py.cli.configuration import load_configuration
from volcano_py.cli.output import console, output_option, print_data
from volcano_py.scheduler import builtin_registry

EPILOG = """\b
Examples:
  volcano-py bench --nodes 1000 --pods 5000 --gang 100
  volcano-py bench --nodes 5000 --pods 10000 --gang 1 --output json

Timings of a shared machine are noisy: compare within one run and quote ratios.
"""


@click.command(epilog=EPILOG)
@click.option("--nodes", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--pods", type=click.IntRange(min=1), default=5000, show_default=True)
@click.option("--gang", type=click.IntRange(min=1), default=100, show_default=True, help="Pods in a gang.")
@click.option(
    "--mode", type=click.Choice(("decide",)), default="decide", show_default=True, help="decide: the cycle alone."
)
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, help="How often to measure.")
@click.option("--scheduler-conf", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@output_option()
def bench(nodes: int, pods: int, gang: int, mode: str, runs: int, scheduler_conf: Path | None, output: str) -> None:
    """Measure how fast the scheduler decides, in memory and without an API server."""
    registry = builtin_registry()
    configuration = load_configuration(scheduler_conf, registry)
    workload = Workload(nodes=nodes, pods=pods, gang=gang)
    measured = [run_decide(workload, configuration, registry) for _ in range(runs)]
    if output == "table":
        console().print(_table(measured, f"{mode}: {nodes} nodes, {pods} pods in gangs of {gang}"))
    else:
        print_data({"ceiling_pods_per_second": None, "runs": [run.as_json() for run in measured]}, output)


def _table(measured: list[Run], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("Scheduler", "Pods", "Seconds", "Pods/s", "p50", "p99", "CPU s", "Peak RSS"):
        table.add_column(heading, justify="left" if heading == "Scheduler" else "right")
    for run in measured:
        table.add_row(
            run.scheduler,
            str(run.pods),
            f"{run.seconds:.3f}",
            f"{run.pods_per_second:,.0f}",
            f"{run.p50_seconds:.3f} s",
            f"{run.p99_seconds:.3f} s",
            f"{run.cpu_seconds:.2f}",
            f"{run.peak_rss_bytes / 2**20:.0f} MiB",
        )
    return table
