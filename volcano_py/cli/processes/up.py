"""`volcano-py up`."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from volcano_py.cli.live.display import output, say
from volcano_py.cli.options.configuration import valid_text
from volcano_py.cli.options.manifests import read_documents
from volcano_py.cli.options.shape import Shape
from volcano_py.cli.processes.local_cluster import Goal, LocalCluster, Plan
from volcano_py.cli.processes.settling import SAMPLE, lacks, sample_lacks
from volcano_py.local.binaries.binaries import CONTROL_PLANE_BINARIES, ensure_binaries
from volcano_py.local.binaries.progress import Progress
from volcano_py.local.errors import LocalError
from volcano_py.local.network import network
from volcano_py.scheduler import builtin_registry

EPILOG = """\b
Examples:
  volcano-py up
  volcano-py up --once
  volcano-py up --nodes 100 --filename jobs/
  volcano-py up --topology 2x4x8 --no-sample
  volcano-py up --admission
  volcano-py up --scheduler-conf volcano-scheduler.conf
  volcano-py up -- --controllers=-podgroup --log-level debug

Flags after -- are for the scheduler: see volcano-py run --help.

The control plane is a real one: etcd, kube-apiserver, kube-controller-manager and kubectl, and KWOK, which plays the
kubelets of simulated nodes. Binaries in $KUBEBUILDER_ASSETS or on PATH are used; what is missing is built once, which
takes some minutes. All it writes goes to a temporary directory. It ends with Ctrl-C and leaves nothing running.

There is no default scheduler: a pod without schedulerName: volcano stays Pending. A simulated pod runs until it is
deleted, and a simulated node is always ready, unless you say otherwise:

\b
  kubectl annotate pod NAME pod-complete.stage.kwok.x-k8s.io/delay=1s   # it succeeds
  kubectl annotate pod NAME pod-fail.stage.kwok.x-k8s.io/delay=1s       # it fails
  kubectl label node NAME node-not-ready.stage.kwok.x-k8s.io=true       # not ready until the label is removed
"""

_CALM_SECONDS = 5.0
"""Controllers and the scheduler answer within a part of it, even on a busy machine. The sample needs none: what is
expected is known."""


# Flags of `run` that `up` gives itself.
_GIVEN: Final = ("kubeconfig", "context", "listen_addresses", "healthz_address")


def _checked(_context: click.Context, parameter: click.Parameter, flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags, if `run` takes them: a mistake ends the verb before anything is started."""
    from volcano_py.cli.processes.run import run

    if flags and not flags[0].startswith("-"):
        raise click.BadParameter(
            f"{flags[0]} is not a flag; only flags of the scheduler come after --", param=parameter
        )
    try:
        context = run.make_context("volcano-py run", list(flags))
    except click.UsageError as error:
        raise click.BadParameter(f"volcano-py run: {error.format_message()}", param=parameter) from error
    for name in _GIVEN:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(each for each in run.params if each.name == name)
            raise click.BadParameter(f"volcano-py up sets {option.opts[0]} itself; leave it out", param=parameter)
    return flags


@click.command(epilog=EPILOG)
@click.option(
    "--once",
    is_flag=True,
    help="Exit when everything has settled: with 0, or with 1 and the reason if it does not settle.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="With --once: how long it may take to settle, once the control plane is up.",
)
@click.option("--nodes", type=click.IntRange(0, 10_000), default=0, metavar="N", help="Create N more simulated nodes.")
@click.option(
    "--topology",
    type=Shape(),
    help="Create simulated nodes in a network, with HyperNodes: the number of spines, of racks in each spine, and of "
    "nodes in each rack.",
)
@click.option("--no-sample", is_flag=True, help="Create nothing.")
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="Manifest file or folder to create instead of the sample (repeatable); - reads standard input. Nodes become"
    " simulated ones.",
)
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="volcano-scheduler.conf, or a ConfigMap with one in it: the cluster's ConfigMap gets its text, and an edit "
    "there applies at once. [default: the shipped configuration]",
)
@click.option("--admission", is_flag=True, help="With admission webhooks: mistakes in queues and jobs are refused.")
@click.option(
    "--work-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="New or empty directory for logs, certificates and data, kept at the end. [default: a temporary one]",
)
@click.argument("run_flags", nargs=-1, type=click.UNPROCESSED, metavar="[-- FLAGS OF RUN]", callback=_checked)
def up(
    once: bool,
    timeout: float,
    nodes: int,
    topology: tuple[int, int, int] | None,
    no_sample: bool,
    filenames: tuple[Path, ...],
    scheduler_conf: Path | None,
    admission: bool,
    work_dir: Path | None,
    run_flags: tuple[str, ...],
) -> None:
    """Try everything on a local control plane: a real API server with simulated nodes, this scheduler and a sample.

    Shows queues, PodGroups, nodes and events as they change, and how to reach the cluster with kubectl.
    """
    configuration = None if scheduler_conf is None else valid_text(scheduler_conf, builtin_registry().with_installed())
    is_sample = not (filenames or no_sample)
    documents = read_documents(filenames or (() if no_sample else (SAMPLE,)))
    goal = (
        Goal(lacks=sample_lacks, calm=0, timeout=timeout)
        if is_sample
        else Goal(lacks=lacks, calm=_CALM_SECONDS, timeout=timeout)
    )
    plan = Plan(
        documents=(*(() if topology is None else network(*topology)), *(document.body for document in documents)),
        extra_nodes=nodes,
        configuration=configuration,
        scheduler_arguments=run_flags,
        goal=goal if once else None,
        work_dir=work_dir,
        admission=admission,
    )
    _run(plan)


def _run(plan: Plan) -> None:
    """Bring the plan up, and end the verb as a program should that was interrupted, has failed or has succeeded."""
    out = output()
    # While binaries are built there is no event loop yet that could answer to a request to stop.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cluster = LocalCluster(plan, ensure_binaries(CONTROL_PLANE_BINARIES, progress=Progress(out)), out)
    except LocalError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    try:
        asyncio.run(cluster.run())
    except LocalError as error:
        hint = "" if plan.work_dir else "\nWith --work-dir DIR all logs are kept."
        raise click.ClickException(f"{error}{hint}") from error
    except asyncio.CancelledError:
        # It was asked to stay up until it is stopped.
        if not cluster.shown or plan.goal is not None:
            sys.exit(128 + (cluster.signal or signal.SIGINT))
    say(out, "Nothing is left running." if plan.goal is None else "Settled. Nothing is left running.")
