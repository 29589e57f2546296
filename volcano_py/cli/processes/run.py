"""`volcano-py run`."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from volcano_py.cli.options.durations import DURATION
from volcano_py.cli.processes.admission_flags import admission_flags, admission_options
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.daemon.options import BINDS_IN_FLIGHT, CONTROLLERS, DaemonOptions, LeaderElectionOptions

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.cluster.kubernetes.watching.early_lists import EarlyLists
    from volcano_py.daemon.leading.lifeline import Lifeline

F = TypeVar("F", bound=Callable[..., Any])

EPILOG = """\b
Examples:
  volcano-py run                                              # in a cluster
  volcano-py run --kubeconfig ~/.kube/config --leader-elect=false
  volcano-py run --scheduler-conf conf.yaml --strict --listen-address 127.0.0.1:8080
  volcano-py run --scheduler-name volcano-trial               # next to a Volcano that keeps its pods
  volcano-py run --controllers=none                           # the scheduler alone
  volcano-py run --scheduling=false                           # the controllers alone
"""

# Seconds. A thread that computes (a cycle, or loading modules) then gives the event loop its turn often enough that
# binding overlaps deciding (the default of 5 ms lets the loop have little more than half of its throughput).
SWITCH_INTERVAL: Final = 0.0005

# numpy's library for matrices starts a thread for every further core when it is loaded, and they wait busily for work
# that never comes: a tenth of a second of CPU while the API server lists what there is.
NO_HELPING_THREADS: Final = ("OPENBLAS_NUM_THREADS", "1")

# Connections for whatever is not a binding: lists, evictions, statuses, events, and what the controllers write. As many
# as all of them may have requests under way, so that no request waits for a connection: there is one line for all.
OTHERS_IN_FLIGHT: Final = 320

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


VOLCANOS_CONTROLLERS: Final = {
    "queue-controller": "queue",
    "pg-controller": "podgroup",
    "job-controller": "job",
    "cronjob-controller": "cronjob",
    "jobflow-controller": "jobflow",
}
"""Names in Volcano's controller-manager → ours."""


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
    "--default-queue", default="default", show_default=True, help="Queue of work that names none, or `default`."
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
    help="Binding requests of one namespace under way at a time; a quarter more are for other namespaces.",
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
    help="Name of the Lease. [default: the scheduler name; without scheduling: vc-controller-manager]",
)
@admission_flags
@click.option("--seed", type=int, help="Seed of the random order among equal nodes. [default: from the clock]")
@click.option("--log-level", default="info", show_default=True, help="debug, info, warning or error.")
@click.option("-v", "--verbosity", type=int, help="klog-like verbosity; 4 or more means debug.")
@click.option("--log-format", type=click.Choice(("auto", "json", "console")), default="auto", show_default=True)
@_without_effect
def run(**flags: Any) -> None:
    """Run the scheduler daemon until SIGTERM or Ctrl-C.

    It then stops deciding, carries out what was decided and gives its Lease back.
    """
    collect_seldom()
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
    _run(_options(flags))


def _log() -> Any:
    """Imported here, so that `--help` does not load structlog."""
    import structlog

    return structlog.get_logger(__name__)


def _options(flags: dict[str, Any]) -> DaemonOptions:
    options = _read(flags)
    if not (options.scheduling or options.controllers or options.admission.enabled):
        raise click.BadParameter(
            "nothing to run: scheduling, controllers and admission are all off. Leave one of them on.",
            param_hint="--scheduling",
        )
    return options


def _read(flags: dict[str, Any]) -> DaemonOptions:
    from volcano_py.observe.logs import log_level

    return DaemonOptions(
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        scheduling=flags["scheduling"],
        scheduler_names=flags["scheduler_names"] or ("volcano",),
        scheduler_conf=flags["scheduler_conf"],
        config_namespace=flags["config_namespace"],
        config_map=flags["config_map"],
        strict=flags["strict"] or flags["disable_default_scheduler_config"],
        use_default_on_invalid=flags["use_default_on_invalid"],
        schedule_period=flags["schedule_period"],
        resync_period=flags["resync_period"],
        default_queue=flags["default_queue"],
        node_selector=tuple(_label(text) for text in flags["node_selectors"]),
        listen_addresses=_listen_addresses(flags),
        qps=flags["kube_api_qps"],
        burst=flags["kube_api_burst"],
        binds_in_flight=flags["binds_in_flight"],
        controllers=_controllers(flags["controllers"]),
        inherit_owner_annotations=flags["inherit_owner_annotations"],
        per_job_metrics=flags["per_job_metrics"],
        seed=flags["seed"],
        log_level=logging.getLevelName(log_level(flags["log_level"], flags["verbosity"])).lower(),
        log_format=flags["log_format"],
        admission=admission_options(flags),
        election=_election(flags),
    )


def _listen_addresses(flags: dict[str, Any]) -> tuple[str, ...]:
    from volcano_py.observe.listen import ListenAddress

    given = [("--listen-address", address) for address in flags["listen_addresses"] or (":8080",)]
    if flags["healthz_address"]:
        given.append(("--healthz-address", flags["healthz_address"]))
    for flag, address in given:
        try:
            ListenAddress.parse(address)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=flag) from error
    return tuple(dict.fromkeys(address for _, address in given))


def _election(flags: dict[str, Any]) -> LeaderElectionOptions:
    from volcano_py.cluster.kubernetes.lease import RETRY_JITTER

    election = LeaderElectionOptions(
        enabled=flags["leader_elect"],
        namespace=flags["leader_elect_resource_namespace"],
        name=flags["leader_elect_resource_name"],
        lease_duration=flags["leader_elect_lease_duration"],
        renew_deadline=flags["leader_elect_renew_deadline"],
        retry_period=flags["leader_elect_retry_period"],
    )
    lease, renewal, retry = election.lease_duration, election.renew_deadline, election.retry_period
    if election.enabled and retry < 1:
        raise click.BadParameter(f"{retry:g} s is below 1 s", param_hint="--leader-elect-retry-period")
    if election.enabled and renewal <= RETRY_JITTER * retry:
        raise click.BadParameter(
            f"{retry:g} s, and a fifth more at times, is not below the {renewal:g} s of --leader-elect-renew-deadline",
            param_hint="--leader-elect-retry-period",
        )
    if election.enabled and lease <= renewal:
        raise click.BadParameter(
            f"{renewal:g} s is not below the {lease:g} s of --leader-elect-lease-duration",
            param_hint="--leader-elect-renew-deadline",
        )
    return election


def _controllers(text: str) -> frozenset[str]:
    """`queue,podgroup` names those that run; `-queue` alone means all but that one; `none` means none."""
    names = [_our_name(name.strip()) for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name.removeprefix("-") not in {*CONTROLLERS, "none", "all", "*"}]
    if unknown:
        raise click.BadParameter(f"unknown controller {unknown[0]!r}; there are {', '.join(CONTROLLERS)}")
    without = {name.removeprefix("-") for name in names if name.startswith("-")}
    wanted = {name for name in names if not name.startswith("-")}
    if "none" in wanted:
        return frozenset()
    if not wanted or wanted & {"all", "*"}:
        wanted = set(CONTROLLERS)
    return frozenset(wanted - without)


def _our_name(name: str) -> str:
    """What a controller is called here that may have been given by its name in Volcano's controller-manager."""
    sign, bare = ("-", name[1:]) if name.startswith("-") else ("", name)
    bare = VOLCANOS_CONTROLLERS.get(bare, bare)
    return sign + bare


def _label(text: str) -> tuple[str, str]:
    """`key:value`, as Volcano reads it, or `key=value`, as kubectl writes it."""
    key, found, value = text.partition(":") if ":" in text else text.partition("=")
    if not found or not key.strip():
        raise click.BadParameter(f"{text!r} is not a label; write KEY:VALUE", param_hint="--node-selector")
    return key.strip(), value.strip()


def _run(options: DaemonOptions) -> None:
    import uvloop

    sys.setswitchinterval(SWITCH_INTERVAL)
    if not uvloop.run(_serve(options)):
        sys.exit(1)


async def _serve(options: DaemonOptions) -> bool:
    """Whether it ended on request. The modules that decide are loaded while the server answers the first lists."""
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
    from volcano_py.cluster.kubernetes.watching.early_lists import EarlyLists
    from volcano_py.cluster.kubernetes.watching.kinds import STATE_KINDS

    try:
        client = await KubernetesClient.connect(
            options.kubeconfig,
            options.context,
            qps=options.qps,
            burst=options.burst,
            connections=options.binds_in_flight + OTHERS_IN_FLIGHT,
        )
    except CredentialsError as error:
        raise click.ClickException(str(error)) from error
    from volcano_py.daemon.leading.lifeline import Lifeline

    async with client, Lifeline(options) as lifeline:
        loading = asyncio.create_task(asyncio.to_thread(importlib.import_module, "volcano_py.daemon.daemon"))
        if lifeline.election is not None:
            # Lists that are begun once the Lease is ours show all that a leader before us did. A server that does not
            # answer holds up nothing: what has to be loaded takes a while as well.
            attempted = asyncio.create_task(lifeline.election.attempted.wait())
            await asyncio.wait((attempted, loading), return_when=asyncio.FIRST_COMPLETED)
            attempted.cancel()
        async with EarlyLists(client, STATE_KINDS if options.scheduling else ()) as early:
            await loading
            return await _decide(options, client, lifeline, early)


async def _decide(options: DaemonOptions, client: KubernetesClient, lifeline: Lifeline, early: EarlyLists) -> bool:
    from volcano_py.daemon.daemon import Daemon
    from volcano_py.daemon.live_configuration import ConfigurationError
    from volcano_py.daemon.supervision import ChildFailedError
    from volcano_py.observe.listen import ListenError

    try:
        await Daemon(options, client, lifeline, early).run()
    except (ConfigurationError, ListenError) as error:
        raise click.ClickException(str(error)) from error
    except ChildFailedError as error:
        _log().error("daemon failed", error=str(error), cause=str(error.__cause__ or ""))
        return False
    return True
