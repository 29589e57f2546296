"""`volcano-py admission`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

import click

from volcano_py.cli.options.durations import DURATION
from volcano_py.cli.processes.admission_flags import admission_options, flags_of_admission
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.daemon.options import DaemonOptions

EPILOG = """\b
Examples:
  volcano-py admission                                        # in a cluster
  volcano-py admission --admission-client-ca-file=/etc/webhook-clients/ca.crt
"""

# Requests to the API server: lists of queues, which edits that come together share, and certificates.
_PER_SECOND: Final = 200
_CONNECTIONS: Final = 32


@click.command(epilog=EPILOG)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, dir_okay=False), help="[default: in-cluster, $KUBECONFIG]"
)
@click.option("--context", help="Context of the kubeconfig. [default: its current one]")
@click.option("--scheduler-name", default="volcano", show_default=True, help="schedulerName of jobs that name none.")
@click.option(
    "--default-queue", default="default", show_default=True, help="Queue for work that names none, or names `default`."
)
@click.option(
    "--resync-period", type=DURATION, default="1h", show_default=True, help="How often to list everything again."
)
@click.option(
    "--listen-address", "listen_addresses", multiple=True, help="Metrics and health (repeatable). [default: :8080]"
)
@flags_of_admission
@click.option("--log-level", default="info", show_default=True, help="debug, info, warning or error.")
@click.option("--log-format", type=click.Choice(("auto", "json", "console")), default="auto", show_default=True)
@click.option("--reports", type=int, hidden=True, help="File descriptor of the daemon that started this process.")
def admission(**flags: Any) -> None:
    """Answer admission webhooks, and nothing else, until SIGTERM or Ctrl-C.

    `volcano-py run --admission` starts such a process by itself. This verb is for a Deployment of its own: the webhooks
    then need none of the scheduler's rights.
    """
    collect_seldom()
    from volcano_py.observe.logs import LogFormat, configure_logs, log_level

    try:
        configure_logs(log_level(flags["log_level"]), LogFormat(flags["log_format"]))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--log-level") from error
    _run(_options(flags), flags["reports"])


def _options(flags: dict[str, Any]) -> DaemonOptions:
    from volcano_py.observe.listen import ListenAddress

    addresses = flags["listen_addresses"] or (":8080",)
    try:
        for address in addresses:
            ListenAddress.parse(address)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--listen-address") from error
    return DaemonOptions(
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        scheduler_names=(flags["scheduler_name"],),
        default_queue=flags["default_queue"],
        resync_period=flags["resync_period"],
        listen_addresses=addresses,
        log_level=flags["log_level"],
        log_format=flags["log_format"],
        admission=admission_options({"admission": True, **flags}),
    )


def _run(options: DaemonOptions, reports_to: int | None) -> None:
    import uvloop

    if reports_to is not None:
        os.set_inheritable(reports_to, False)
    if not uvloop.run(_serve(options, reports_to)):
        sys.exit(1)


async def _serve(options: DaemonOptions, reports_to: int | None) -> bool:
    """Whether it ended because it was asked to."""
    import structlog

    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
    from volcano_py.daemon.admission.daemon import AdmissionDaemon
    from volcano_py.daemon.supervision import ChildFailedError
    from volcano_py.observe.listen import ListenError

    try:
        client = await KubernetesClient.connect(
            options.kubeconfig, options.context, qps=_PER_SECOND, burst=_PER_SECOND, connections=_CONNECTIONS
        )
        async with client:
            await AdmissionDaemon(options, client, reports_to=reports_to).run()
    except (CredentialsError, ListenError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except ChildFailedError as error:
        structlog.get_logger(__name__).error("admission failed", error=str(error), cause=str(error.__cause__ or ""))
        return False
    return True
