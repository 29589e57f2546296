"""`volcano-py run`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from volcano_py.cli.options.durations import DURATION
from volcano_py.cli.options.sharding import sharding_options
from volcano_py.cli.processes.admission_flags import admission_flags
from volcano_py.cli.processes.daemon_options import options_of
from volcano_py.cli.processes.serving import serve
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.daemon.options import BINDS_IN_FLIGHT, CONTROLLERS

F = TypeVar("F", bound=Callable[..., Any])

EPILOG = """\b
Examples:
  volcano-py run                                              # in a cluster
  volcano-py run --kubeconfig ~/.kube/config --leader-elect=false
  volcano-py run --scheduler-conf conf.yaml --strict --listen-address 127.0.0.1:8080
  volcano-py run --scheduler-name volcano-trial               # next to a Volcano that keeps its pods
  volcano-py run --controllers=none                           # the scheduler alone
  volcano-py run --scheduling=false                           # the controllers alone
  volcano-py run --scheduler-sharding-name a --controllers=none  # the nodes of one NodeShard
"""

# numpy's library for matrices starts a thread for every further core when it is loaded, and they wait busily for work
# that never comes: a tenth of a second of CPU while the API server lists what there is.
NO_HELPING_THREADS: Final = ("OPENBLAS_NUM_THREADS", "1")

# Flags of Volcano's scheduler that manifests may carry over. Here nothing depends on them: all nodes are looked at,
# health and metrics are always served, and work is not spread over threads.
WITHOUT_EFFECT: Final = (
    "percentage-nodes-to-find",
    "minimum-percentage-nodes-to-find",
    "minimum-feasible-nodes",
    "node-worker-threads",
    "resource-sync-timeout",
    "gate-removal-worker-num",
    "enable-metrics",
    "enable-healthz",
    "enable-pprof",
    "priority-class",
    "csi-storage",
    "cache-dumper",
    "cache-dump-dir",
    "plugins-dir",
    "feature-gates",
    "logtostderr",
)


def _flag(name: str, default: bool, text: str) -> Callable[[F], F]:
    """A Go-style boolean: `--name`, `--name=true`, `--name=false`."""
    return click.option(
        f"--{name}", type=bool, is_flag=False, flag_value=True, default=default, show_default=True, help=text
    )


def _without_effect(command: F) -> F:
    for name in WITHOUT_EFFECT:
        command = click.option(f"--{name}", is_flag=False, flag_value="true", hidden=True, expose_value=True)(command)
    return command


@click.command(epilog=EPILOG)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, dir_okay=False), help="[default: in-cluster, $KUBECONFIG]"
)
@click.option("--context", help="Context of the kubeconfig. [default: its current one]")
@click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    help="schedulerName of the pods to schedule (repeatable). [default: volcano]",
)
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path),
    help="Path of volcano-scheduler.conf, read again when it changes. It replaces the ConfigMap unless mounted "
    "from one.",
)
@click.option(
    "--config-namespace", default="volcano-system", show_default=True, help="Namespace of the watched ConfigMap."
)
@click.option("--config-map", default="volcano-scheduler-configmap", show_default=True, help="Its name.")
@click.option(
    "--node-selector",
    "node_selectors",
    multiple=True,
    metavar="KEY:VALUE",
    help="Use only nodes with one of these labels (repeatable). [default: all nodes]",
)
@sharding_options
@_flag("strict", False, "Treat unknown keys as errors, and refuse to start with an invalid file.")
@_flag("use-default-on-invalid", False, "Use the built-in configuration while there is no valid one.")
@_flag("disable-default-scheduler-config", False, "Volcano's flag: refuse to start with an invalid file.")
@click.option(
    "--schedule-period",
    type=DURATION,
    default="1s",
    show_default=True,
    help="Longest pause between cycles.",
)
@click.option(
    "--resync-period",
    type=DURATION,
    default="1h",
    show_default=True,
    help="How often to list everything again, in case a watch missed something; 0: never.",
)
@click.option(
    "--default-queue", default="default", show_default=True, help="Queue for work that names none, or names `default`."
)
@click.option(
    "--listen-address", "listen_addresses", multiple=True, help="Metrics and health (repeatable). [default: :8080]"
)
@click.option("--healthz-address", help="Another address for health checks, as in Volcano.")
@click.option(
    "--kube-api-qps",
    type=click.FloatRange(min=0, min_open=True),
    default=2000.0,
    show_default=True,
    help="Requests to the API server per second.",
)
@click.option(
    "--kube-api-burst",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Requests at once beyond that rate.",
)
@click.option(
    "--binds-in-flight",
    type=click.IntRange(1, 1000),
    default=BINDS_IN_FLIGHT,
    show_default=True,
    help="Binding requests of one namespace under way at a time, if it is the only one with bindings; a quarter more "
    "are for other namespaces.",
)
@click.option(
    "--controllers",
    default=",".join(CONTROLLERS),
    show_default=True,
    help="Which of our controllers run; -NAME leaves one out, 'none' all. Volcano's names are accepted.",
)
@_flag("scheduling", True, "Schedule pods; without it only controllers and admission run, with a Lease of their own.")
@_flag("inherit-owner-annotations", True, "Generated PodGroups inherit their owner's volcano.sh/ annotations.")
@_flag("per-job-metrics", False, "Volcano's gauges with a series for each job (unbounded).")
@_flag("leader-elect", True, "Decide only while holding the Lease.")
@click.option(
    "--leader-elect-lease-duration",
    type=DURATION,
    default="15s",
    show_default=True,
    help="Another replica takes over when the leader has not renewed the Lease for this long.",
)
@click.option(
    "--leader-elect-renew-deadline",
    type=DURATION,
    default="10s",
    show_default=True,
    help="The leader stops when it could not renew the Lease for this long.",
)
@click.option(
    "--leader-elect-retry-period",
    type=DURATION,
    default="2s",
    show_default=True,
    help="Pause between two attempts at the Lease.",
)
@click.option(
    "--leader-elect-resource-namespace",
    "--lock-object-namespace",
    default="volcano-system",
    show_default=True,
    help="Namespace of the Lease.",
)
@click.option(
    "--leader-elect-resource-name",
    default="",
    help="Name of the Lease. [default: the scheduler name, with that of the shard; without scheduling: "
    "vc-controller-manager]",
)
@click.option(
    "--other-scheduler-silence",
    type=DURATION,
    default="30s",
    show_default=True,
    help="After another scheduler has bound pods of our scheduler name, decide nothing until it has bound none for "
    "this long (up to half as long again). 0: do not check.",
)
@admission_flags
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="Record in this folder all that decisions follow from, for `replay` and `history`. [default: no record]",
)
@click.option(
    "--record-size",
    default="1Gi",
    show_default=True,
    help="Largest size of the record on the disk; beyond it, the oldest eighth is deleted.",
)
@click.option(
    "--record-age", type=DURATION, default="24h", show_default=True, help="How long what is recorded is kept."
)
@click.option("--seed", type=int, help="Seed of the random order among equal nodes. [default: from the clock]")
@click.option("--log-level", default="info", show_default=True, help="debug, info, warning or error.")
@click.option("-v", "--verbosity", type=int, help="klog-like verbosity; 4 or more means debug.")
@click.option("--log-format", type=click.Choice(("auto", "json", "console")), default="auto", show_default=True)
@_without_effect
def run(**flags: Any) -> None:
    """Run the scheduler daemon until SIGTERM or Ctrl-C.

    The daemon then stops deciding, carries out what was decided and releases its Lease.
    """
    if not flags["scheduling"]:
        collect_seldom()  # otherwise the first cycle calls `keep_what_there_is`
    os.environ.setdefault(*NO_HELPING_THREADS)
    from volcano_py.observe.logs import LogFormat, configure_logs, log_level

    try:
        level = log_level(flags["log_level"], flags["verbosity"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--log-level") from error
    configure_logs(level, LogFormat(flags["log_format"]))
    for name in WITHOUT_EFFECT:
        if flags[name.replace("-", "_")] is not None:
            _log().warning("flag has no effect; remove it", flag=f"--{name}")
    serve(options_of(flags))


def _log() -> Any:
    """Imported here, so that `--help` does not load structlog."""
    import structlog

    return structlog.get_logger(__name__)
