"""`volcano-py queue`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from volcano_py.cli.options.captured import Source, source_options
from volcano_py.cli.printing.output import console, output_option, print_data
from volcano_py.cli.queues.verbs import VERBS

EPILOG = """\b
Examples:
  volcano-py queue tree                                      # the cluster of your kubeconfig
  volcano-py queue tree --kubeconfig ~/.kube/config --output json
  volcano-py queue tree --from cluster.capture
  volcano-py queue tree -f nodes.yaml -f queues.yaml -f jobs/ --scheduler-conf capacity.conf

With --filename the manifests are simulated first, as `volcano-py simulate` does. With --from the queues are shown as
they were.

A cluster's queues are computed from its nodes, queues, PodGroups and pods, which you must be allowed to list, by the
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
@source_options
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="volcano-scheduler.conf, or a ConfigMap with one in it. [default: the cluster's ConfigMap; with --filename the"
    " built-in configuration]",
)
@output_option()
def tree(filenames: tuple[Path, ...], source: Source, scheduler_conf: Path | None, output: str) -> None:
    """Draw the tree of queues: what each holds, waits for, is guaranteed, deserves and may have.

    Fields of queues that the configuration ignores are listed below the tree.
    """
    from volcano_py.cli.queues.sources import of_capture, of_cluster, of_manifests

    if filenames and source.is_given:
        raise click.UsageError("--filename shows manifests, the other options a cluster: use only one of them")
    rules = source.rules()
    if filenames:
        found = of_manifests(filenames, scheduler_conf, rules)
    elif source.files:
        found = of_capture(source.capture(), scheduler_conf)
    else:
        from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
        from volcano_py.cluster.kubernetes.http.errors import RequestError

        try:
            found = asyncio.run(
                of_cluster(source.kubeconfig, source.context, scheduler_conf, source.config_namespace, rules)
            )
        except (CredentialsError, RequestError) as error:
            raise click.ClickException(str(error)) from error
    if output == "table":
        from volcano_py.cli.queues.drawing import drawing

        out = console()
        out.print(drawing(found, out.width))
    else:
        print_data({"queues": [standing.as_json() for standing in found]}, output)
