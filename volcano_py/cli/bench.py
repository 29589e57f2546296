"""`volcano-py bench`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import click
from rich.table import Table

from volcano_py.bench.contenders import KUBE_SCHEDULER
from volcano_py.bench.decide import run_decide
from volcano_py.bench.figures import Run
from volcano_py.bench.loads.attacks import ATTACKS
from volcano_py.bench.loads.decide_loads import DECIDE_LOADS, DecideLoad
from volcano_py.bench.loads.mixed_load import MIXED
from volcano_py.bench.loads.shard_load import ShardedWorkload
from volcano_py.bench.loads.tenant_load import TENANTS, Measured, measure_tenants
from volcano_py.bench.loads.workload import Workload
from volcano_py.bench.peers import Peers
from volcano_py.bench.run import BOUND, LOADS, SIZES, Comparison, compare
from volcano_py.bench.shards import run_shards
from volcano_py.bench.strangers import PROBES
from volcano_py.cli.options.configuration import load_configuration
from volcano_py.cli.printing.output import console, log_aside, output_option, print_data
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.local.binaries.progress import Progress
from volcano_py.local.errors import LocalError
from volcano_py.scheduler import builtin_registry

EPILOG = """\b
Examples:
  volcano-py bench --mode decide --nodes 5000 --pods 10000
  volcano-py bench --mode decide --load classes --nodes 5000 --pods 10000 --runs 3
  volcano-py bench --load mixed --nodes 2000 --pods 5000
  volcano-py bench --mode decide --nodes 50000 --pods 1000000 --shards 10
  volcano-py bench --nodes 1000 --pods 5000 --gang 100 --runs 3
  volcano-py bench --load arrival --rate 200 --pods 4000 --output json
  volcano-py bench --load rest --nodes 2000
  volcano-py bench --load tenants --attack small-jobs --attack misfits
  volcano-py bench --peer-crds=crds --peer 'vc-scheduler --kubeconfig={kubeconfig} --scheduler-conf={configuration}'

Loads (mode api): backlog, all pods are there first: throughput. mixed, the same with nodes and pods of many types and
gangs of 1 to 128, in the shares that published traces of GPU clusters have; pods that fit nowhere are given up.
arrival, gangs come at a steady rate: latency. bare, backlog of pods without PodGroup. restart, 1,000 pods wait among
bound ones: from process start to the bindings. rest, bound pods and nothing to do: CPU, and the latency of a gang of
20, without and with 3,000 stuck pods. tenants, one tenant attacks with the rights of its namespace: how soon the pods
of others are bound before, during and after each attack, by two replicas with a Lease. Control: the same objects, for a
scheduler that does not run.

Loads (mode decide): backlog, equal pods. mixed, as in mode api. classes, pods of 500 classes, all mixed. strategy,
resource-strategy-fit with retention over nodes with and without GPUs. apart, no two pods of a job on one node. zones,
each job spread over 10 zones. wishes, each job spread over zones and nodes as far as that goes. topology, gangs of 64
that are kept in a rack, alongside the same without limits, and 500 that fit nowhere. sizes, backlog on 1,250 to 10,000
nodes, and of 2,500 to 20,000 pods. trees, 20,000 jobs in 1,000 queues of a tree, ordered by drf, by capacity and, side
by side, by proportion. preemption, 500 pods wait, 10,000 run. reclaim, the same between queues, and where no queue is
owed anything.

Timings of a shared machine are noisy: compare within one run and quote ratios.
"""


@click.command(epilog=EPILOG)
@click.option("--nodes", type=click.IntRange(min=1), default=1000, show_default=True, help="Nodes of the cluster.")
@click.option("--pods", type=click.IntRange(min=1), default=5000, show_default=True, help="Pods to be bound.")
@click.option(
    "--gang", type=click.IntRange(min=1), default=100, show_default=True, help="Pods in a gang, where all are equal."
)
@click.option(
    "--mode",
    type=click.Choice(("api", "decide")),
    default="api",
    show_default=True,
    help="api: whole schedulers on one real API server. decide: the cycle alone, in memory.",
)
@click.option(
    "--load",
    type=click.Choice((*LOADS, TENANTS, *(name for name in DECIDE_LOADS if name not in LOADS))),
    default="backlog",
    show_default=True,
    help="What is measured, see below.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=200.0,
    show_default=True,
    help="Pods per second of --load arrival.",
)
@click.option(
    "--bound",
    type=click.IntRange(min=0),
    help="Pods that are bound before the scheduler starts, for --load arrival, restart and rest. [default: 10000; "
    "arrival: 0]",
)
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    type=click.Choice(tuple(ATTACKS)),
    help="An attack of --load tenants (repeatable). [default: all]",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="How long each phase of --load tenants takes, without creating and clearing.",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    help="Command of another scheduler (repeatable); {kubeconfig}, {configuration}, {directory} and {port} are filled "
    "in. {directory} is a folder of its own, {configuration} the file in it with what --scheduler-conf gives.",
)
@click.option(
    "--peer-crds",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with CRDs that peers need; kinds that are served already stay as they are.",
)
@click.option("--kube-scheduler/--no-kube-scheduler", default=True, help="Measure kube-scheduler too. [default: yes]")
@click.option(
    "--shards",
    type=click.IntRange(min=2),
    help="Divide the cluster into this many shards. Each shard decides in its own process, one after the other (mode "
    "decide, load backlog).",
)
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of runs, in turn.")
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Configuration: in mode decide, what to decide by; in mode api, of peers. [default: Volcano's built-in one]",
)
@output_option()
def bench(
    nodes: int,
    pods: int,
    gang: int,
    mode: str,
    load: str,
    rate: float,
    bound: int | None,
    attacks: tuple[str, ...],
    seconds: float,
    peers: tuple[str, ...],
    peer_crds: Path | None,
    kube_scheduler: bool,
    shards: int | None,
    runs: int,
    scheduler_conf: Path | None,
    output: str,
) -> None:
    """Measure the scheduler: on a real API server, compared with others, or its decisions alone."""
    workload = Workload(nodes=nodes, pods=pods, gang=gang)
    if load not in (DECIDE_LOADS if mode == "decide" else (*LOADS, TENANTS)):
        raise click.UsageError(f"--mode {mode} has no load {load}; see --help for its loads")
    if shards is not None and (mode, load, runs) != ("decide", "backlog", 1):
        raise click.UsageError("--shards is for one run of --mode decide --load backlog")
    if bound is not None and (mode == "decide" or load not in BOUND):
        raise click.UsageError(f"--bound is for --mode api with --load {', '.join(BOUND)}")
    log_aside()
    if load == TENANTS:
        _tenants(attacks or tuple(ATTACKS), nodes, seconds, output)
        return
    if shards is not None:
        divided = ShardedWorkload(whole=workload, shards=shards)
        comparison = Comparison((), tuple(run_shards(divided, _text_of(scheduler_conf))))
    elif mode == "decide":
        comparison = Comparison((), tuple(_decide(workload, DECIDE_LOADS[load], scheduler_conf, runs)))
    else:
        try:
            comparison = asyncio.run(
                compare(
                    workload,
                    load,
                    rate=rate,
                    bound=bound,
                    peers=Peers(peers, peer_crds, _text_of(scheduler_conf)),
                    with_kube_scheduler=kube_scheduler,
                    rounds=runs,
                    report=Progress().note,
                )
            )
        except LocalError as error:
            raise click.ClickException(str(error)) from error
    if output == "table":
        _print(comparison, _title(mode, load, workload, bound))
    else:
        print_data(comparison.as_json(), output)


def _tenants(attacks: Sequence[str], nodes: int, seconds: float, output: str) -> None:
    try:
        measured = asyncio.run(measure_tenants(attacks, nodes=nodes, seconds=seconds, report=Progress().note))
    except LocalError as error:
        raise click.ClickException(str(error)) from error
    if output == "table":
        out = console()
        out.print(tenant_table(measured, f"tenants: {nodes} nodes, seconds until others' pods are bound"))
        for each in measured:
            out.print(f"{each.attack}: {each.title}; {each.refused} requests refused, {each.restarts} replicas ended")
            parts = f"{each.steady.write_p90:.2f} / {each.steady.news_p90:.2f} / {each.steady.rest_p90:.2f}"
            edits = f"{each.edits_per_second:.0f} edits/s"
            out.print(f"  steady after {each.settling:.0f} s, then {edits}, write / news / rest {parts}")
    else:
        print_data({"attacks": [each.as_json() for each in measured]}, output)


def tenant_table(measured: Sequence[Measured], title: str) -> Table:
    """A line for each attack and kind of probe; latencies as 50th percentile / 90th / worst, the parts as 90th
    percentiles during the attack."""
    table = Table(title=title, title_justify="left")
    for heading in ("Attack", "Probe"):
        table.add_column(heading, no_wrap=True)
    figures = ("Before", "Control", "During", "Steady", "After", "p90 ×", "× control", "Unbound", "Write / news / rest")
    for heading in (*figures, "Lease moved"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in measured:
        for probe in PROBES:
            phases = [phase.latency[probe] for phase in each.phases().values()]
            table.add_row(
                each.attack,
                probe,
                *(f"{phase.p50:.2f} / {phase.p90:.2f} / {phase.worst:.2f}" for phase in phases),
                f"{each.times(probe):.1f}",
                f"{each.times_control(probe):.1f}",
                str(each.during.latency[probe].unbound),
                f"{each.during.write_p90:.2f} / {each.during.news_p90:.2f} / {each.during.rest_p90:.2f}",
                f"{each.lease_transitions}",
            )
    return table


def _title(mode: str, load: str, workload: Workload, bound: int | None) -> str:
    asked_for = f"{workload.nodes} nodes, {workload.pods} pods"
    if load != MIXED:
        asked_for += f" in gangs of {workload.gang}"
    if mode == "api":
        before = BOUND.get(load, 0) if bound is None else bound
        crowd = f", {before} bound pods" if before else ""
        return f"{load}: {f'{workload.nodes} nodes, {SIZES[load]}' if load in SIZES else asked_for}{crowd}"
    title = f"decide, {DECIDE_LOADS[load].title}"
    return title if DECIDE_LOADS[load].has_own_size else f"{title}: {asked_for}"


def _decide(workload: Workload, load: DecideLoad, scheduler_conf: Path | None, runs: int) -> Iterator[Run]:
    collect_seldom()  # as the daemon does
    registry = builtin_registry()
    given = load_configuration(scheduler_conf, registry)
    for case in load.cases(workload):
        configuration = given
        if case.configuration and scheduler_conf is None:
            own = parse_configuration(case.configuration, registry.catalogue()).config
            assert own is not None, "the load's own configuration is invalid"
            configuration = own
        for _ in range(runs):
            yield run_decide(case.items(), configuration, registry, name=case.name)


def _text_of(scheduler_conf: Path | None) -> str:
    """The configuration as text, once it is known to be valid."""
    if scheduler_conf is None:
        return default_configuration_text()
    load_configuration(scheduler_conf, builtin_registry())
    return scheduler_conf.read_text(encoding="utf-8")


def _print(comparison: Comparison, title: str) -> None:
    out = console()
    if comparison.ceiling is not None:
        each = ", ".join(f"{ceiling:,.0f}" for ceiling in comparison.ceilings)
        out.print(f"ceiling (bare bindings): {comparison.ceiling:,.0f} pods/s on average of {each}")
    out.print(_table(comparison, title))
    for name, times in comparison.times_as_fast().items():
        each = f" (each time: {', '.join(f'{time:.2f}' for time in times)})" if len(times) > 1 else ""
        out.print(f"{name}: {median(times):.2f} times as fast as {KUBE_SCHEDULER}{each}")
    for run in comparison.runs:
        for name, value in run.notes.items():
            text = f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
            out.print(f"{run.scheduler}: {name.replace('_', ' ')} {text}")
        if run.failure:
            out.print(run.failure, markup=False, highlight=False)


def _table(comparison: Comparison, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    headings = ["Scheduler", "Pods", "Seconds", "Pods/s", "Of ceiling", "p50 s", "p99 s", "CPU s", "RSS MiB"]
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "Scheduler" else "right", no_wrap=True)
    for run in comparison.runs:
        table.add_row(*_row(run, comparison.ceiling))
    return table


def _row(run: Run, ceiling: float | None) -> list[str]:
    return [
        run.scheduler,
        str(run.pods),
        f"{run.seconds:.2f}" if run.seconds else "-",
        f"{run.pods_per_second:,.0f}" if run.seconds else "-",
        f"{100 * run.pods_per_second / ceiling:.0f} %" if ceiling else "-",
        f"{run.p50_seconds:.3f}",
        f"{run.p99_seconds:.3f}",
        f"{run.cpu_seconds:.2f}",
        f"{run.peak_rss_bytes / 2**20:.0f}",
    ]
