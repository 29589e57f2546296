"""`volcano-py queue create|list|get|operate|open|close|delete`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from volcano_py.cli.options.amounts import AMOUNTS
from volcano_py.cli.options.cluster_access import cluster_options, on_cluster
from volcano_py.cli.options.cluster_configuration import config_namespace_option
from volcano_py.cli.options.live_names import QUEUES
from volcano_py.cli.options.names import SUBDOMAIN
from volcano_py.cli.options.object_names import name_option
from volcano_py.cli.printing.output import console, output_option, print_data

if TYPE_CHECKING:
    from volcano_py.api.effects import JsonObject
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.operator.queues.states import QueueAction

_LARGEST_WEIGHT: Final = 65_535  # as in the Queue API

_CREATE = """\b
Examples:
  volcano-py queue create team-a --weight 4
  volcano-py queue create team-b --capability cpu=32,memory=128Gi --not-reclaimable
  volcano-py queue create team-c --parent dept --deserved cpu=16,nvidia.com/gpu=4 --guarantee nvidia.com/gpu=2
"""
_LIST = """\b
Examples:
  volcano-py queue list
  volcano-py queue list --watch
  volcano-py queue list -o json
"""
_GET = """\b
Examples:
  volcano-py queue get team-a
  volcano-py queue get team-a -o yaml
"""
_CLOSE = """\b
Examples:
  volcano-py queue close team-a

A closed queue starts nothing; running pods continue. Queues below it close with it. Until its last PodGroup is gone its
state is Closing.
"""
_OPEN = """\b
Examples:
  volcano-py queue open team-a

Queues below it that closed with it open again.
"""
_OPERATE = """\b
Examples:
  volcano-py queue operate team-a --action close
  volcano-py queue operate team-a --action open
  volcano-py queue operate team-a --weight 4
"""
_DELETE = """\b
Examples:
  volcano-py queue delete team-a
"""


_name_option: Final = name_option("-n", SUBDOMAIN, QUEUES, required=True, text="Name of the queue.", noun="queue")


@click.command(epilog=_CREATE)
@_name_option
@click.option(
    "--weight",
    "-w",
    type=click.IntRange(1, _LARGEST_WEIGHT),
    default=1,
    show_default=True,
    help="Share weight among its siblings.",
)
@click.option(
    "--parent", type=SUBDOMAIN, default="root", show_default=True, shell_complete=QUEUES, help="Its parent queue."
)
@click.option("--capability", type=AMOUNTS, help="The most that the queue may hold. [default: no limit]")
@click.option("--deserved", type=AMOUNTS, help="What the queue is entitled to, for the plugin capacity.")
@click.option("--guarantee", type=AMOUNTS, help="What is reserved for the queue, even while it is idle.")
@click.option(
    "--reclaimable/--not-reclaimable",
    default=True,
    show_default=True,
    help="Whether other queues may reclaim what the queue holds beyond what it deserves.",
)
@click.option(
    "--state",
    "-S",
    type=click.Choice(["Open", "Closed"], case_sensitive=False),
    default="Open",
    show_default=True,
    help="Closed: a Command closes it as soon as it is created.",
)
@config_namespace_option
@cluster_options
def create(
    name: str,
    weight: int,
    parent: str,
    capability: dict[str, str] | None,
    deserved: dict[str, str] | None,
    guarantee: dict[str, str] | None,
    reclaimable: bool,
    state: str,
    config_namespace: str,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Create a queue, and say which of its fields the scheduler's configuration ignores."""
    from volcano_py.cli.queues import operations
    from volcano_py.operator.queues.states import QueueAction

    manifest = operations.queue_manifest(
        name,
        weight=weight,
        parent=parent,
        reclaimable=reclaimable,
        capability=capability,
        deserved=deserved,
        guarantee=guarantee,
    )

    async def work(client: KubernetesClient) -> None:
        click.echo(await operations.create(client, manifest))
        for sentence in await operations.ignored(client, operations.decoded(manifest), config_namespace):
            click.echo(f"queue {name}: {sentence}", err=True)
        if state == "Closed":
            click.echo(await operations.ask(client, name, QueueAction.CLOSE))

    on_cluster(kubeconfig, context, work)


@click.command("list", epilog=_LIST)
@click.option("--watch", "-w", is_flag=True, help="Keep showing changes until Ctrl-C.")
@output_option()
@cluster_options
def list_(watch: bool, output: str, kubeconfig: Path | None, context: str | None) -> None:
    """List queues with their state, and the number of their PodGroups in each phase."""
    from volcano_py.api.names import SCHEDULING_API
    from volcano_py.cli.printing.show import Shown, show
    from volcano_py.cli.queues.rows import HEADER, NUMBERS, SPARE, STATE_COLUMN, queue_row
    from volcano_py.cluster.kubernetes.watching.kinds import QUEUE

    shown = Shown(
        api_version=SCHEDULING_API,
        kind="Queue",
        path=QUEUE.path,
        header=HEADER,
        row=queue_row,
        state_column=STATE_COLUMN,
        numbers=NUMBERS,
        spare=SPARE,
    )
    on_cluster(kubeconfig, context, lambda client: show(client, shown, output, watch=watch))


@click.command(epilog=_GET)
@_name_option
@output_option()
@config_namespace_option
@cluster_options
def get(name: str, output: str, config_namespace: str, kubeconfig: Path | None, context: str | None) -> None:
    """Show one queue: what it is, what it holds and may have, and which of its fields the configuration ignores."""
    from volcano_py.cli.queues import operations

    async def work(client: KubernetesClient) -> tuple[JsonObject, list[str]]:
        found = await operations.read(client, name)
        if output != "table":
            return found, []
        return found, await operations.ignored(client, operations.decoded(found), config_namespace)

    found, ignored = on_cluster(kubeconfig, context, work)
    if output == "table":
        _print_queue(found, ignored)
    else:
        print_data(found, output)


@click.command("open", epilog=_OPEN)
@_name_option
@cluster_options
def open_(name: str, kubeconfig: Path | None, context: str | None) -> None:
    """Open a queue, so that it starts work again."""
    from volcano_py.operator.queues.states import QueueAction

    _ask(name, QueueAction.OPEN, kubeconfig, context)


@click.command(epilog=_CLOSE)
@_name_option
@cluster_options
def close(name: str, kubeconfig: Path | None, context: str | None) -> None:
    """Close a queue, so that it starts no work."""
    from volcano_py.operator.queues.states import QueueAction

    _ask(name, QueueAction.CLOSE, kubeconfig, context)


@click.command(epilog=_OPERATE)
@_name_option
@click.option(
    "--action",
    "-a",
    type=click.Choice(["open", "close", "update"]),
    help="open or close the queue, or update its weight. [default: update, with --weight]",
)
@click.option(
    "--weight", "-w", type=click.IntRange(1, _LARGEST_WEIGHT), help="The queue's new weight among its siblings."
)
@cluster_options
def operate(name: str, action: str | None, weight: int | None, kubeconfig: Path | None, context: str | None) -> None:
    """Open or close a queue or change its weight, with vcctl's options."""
    from volcano_py.operator.queues.states import QueueAction

    asked = {"open": QueueAction.OPEN, "close": QueueAction.CLOSE}.get(action or "")
    if asked is not None:
        if weight is not None:
            raise click.UsageError(f"--weight goes with --action update, not with {action}")
        _ask(name, asked, kubeconfig, context)
        return
    if weight is None:
        raise click.UsageError(
            "--action update changes the weight: give it with --weight"
            if action
            else "choose what to do: --action open, --action close, or --weight"
        )
    from volcano_py.cli.queues import operations

    change = weight
    click.echo(on_cluster(kubeconfig, context, lambda client: operations.weigh(client, name, change)))


@click.command(epilog=_DELETE)
@_name_option
@cluster_options
def delete(name: str, kubeconfig: Path | None, context: str | None) -> None:
    """Delete a queue without queues below it, and without PodGroups that are not finished."""
    from volcano_py.cli.queues import operations

    click.echo(on_cluster(kubeconfig, context, lambda client: operations.delete(client, name)))


VERBS: Final = (create, list_, get, operate, open_, close, delete)


def _ask(name: str, action: QueueAction, kubeconfig: Path | None, context: str | None) -> None:
    from volcano_py.cli.queues import operations

    async def work(client: KubernetesClient) -> str:
        return await operations.ask(client, name, action)

    click.echo(on_cluster(kubeconfig, context, work))


def _print_queue(found: JsonObject, ignored: Sequence[str]) -> None:
    from volcano_py.cli.printing.listing import Listing
    from volcano_py.cli.printing.one_line import plain
    from volcano_py.cli.queues.operations import decoded
    from volcano_py.cli.queues.rows import AMOUNTS_HEADER, amount_rows, facts

    queue = decoded(found)
    described = facts(queue, time.time())
    width = max(len(name) for name, _ in described) + 1
    for name, text in described:
        click.echo(f"{name + ':':<{width}}  {text}")
    rows = list(amount_rows(queue))
    if rows:
        click.echo()
        Listing(console(), AMOUNTS_HEADER, numbers=AMOUNTS_HEADER[1:]).print(rows)
    if ignored:
        click.echo()
    for sentence in ignored:
        click.echo(plain(sentence))
