"""`volcano-py queue`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from volcano_py.cli.options.cluster_configuration import config_namespace_option
from volcano_py.cli.printing.output import console, output_option, print_data
from volcano_py.cli.queues.verbs import VERBS
from volcano_py.operator.podgroups.generated_group import GroupRules

EPILOG = """\b
Examples:
  volcano-py queue tree                                      # the cluster of your kubeconfig
  volcano-py queue tree --kubeconfig ~/.kube/config --output json
  volcano-py queue tree -f nodes.yaml -f queues.yaml -f jobs/ --scheduler-conf capacity.conf

With --filename the manifests are simulated first, as `volcano-py simulate` does.

A cluster's queues are worked out from its nodes, queues, PodGroups and pods, which you must be allowed to list, by the
configuration in the scheduler's ConfigMap. Nothing is written.
"""


@click.group()
def queue() -> None:
    """Create, show and change queues."""


for _verb in VERBS:
    queue.add_command(_verb)


@queue.command(epilog=EPILOG)
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="Manifest file or folder instead of a cluster (repeatable); - reads standard input.",
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, dir_okay=False), help="[default: in-cluster, $KUBECONFIG]"
)
@click.option("--context", help="Context of the kubeconfig. [default: its current one]")
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="volcano-scheduler.conf, or a ConfigMap with one in it. [default: the cluster's ConfigMap; with --filename the"
    " built-in configuration]",
)
@config_namespace_option
@click.option("--scheduler-name", "scheduler_names", multiple=True, default=("volcano",), show_default=True)
@click.option(
    "--default-queue", default="default", show_default=True, help="Queue of work that names none, or `default`."
)
@output_option()
def tree(
    filenames: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
    scheduler_conf: Path | None,
    config_namespace: str,
    scheduler_names: tuple[str, ...],
    default_queue: str,
    output: str,
) -> None:
    """Draw the tree of queues: what each holds, waits for, is guaranteed, deserves and may have.

    What the configuration ignores of their fields is listed below it.
    """
    from volcano_py.cli.queues.sources import of_cluster, of_manifests

    if filenames and (kubeconfig or context):
        raise click.UsageError("--filename shows manifests, --kubeconfig and --context a cluster: use only one of them")
    rules = GroupRules(scheduler_names=frozenset(scheduler_names), default_queue=default_queue)
    if filenames:
        found = of_manifests(filenames, scheduler_conf, rules)
    else:
        from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
        from volcano_py.cluster.kubernetes.http.errors import RequestError

        try:
            found = asyncio.run(of_cluster(kubeconfig, context, scheduler_conf, config_namespace, rules))
        except (CredentialsError, RequestError) as error:
            raise click.ClickException(str(error)) from error
    if output == "table":
        from volcano_py.cli.queues.drawing import drawing

        out = console()
        out.print(drawing(found, out.width))
    else:
        print_data({"queues": [standing.as_json() for standing in found]}, output)
