"""`volcano-py ui`."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from volcano_py.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER_NAME
from volcano_py.cli.options.captured import Source, source_options
from volcano_py.cli.options.cluster_access import INTERRUPTED, namespace_of, on_cluster
from volcano_py.cli.options.names import LABEL
from volcano_py.cli.printing.output import log_aside

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.framework.registry import Registry
    from volcano_py.observe.listen import ListenAddress

EPILOG = """\b
Examples:
  volcano-py ui                                   # the cluster of your kubeconfig, read with your own rights
  volcano-py ui --context prod --no-browser
  volcano-py ui --from cluster.capture
  volcano-py ui --listen-address 127.0.0.1:8765

The page follows the cluster by watches of its own and writes nothing. Only the address that is printed opens it: the
token in it is new at each start. Ctrl-C ends it.
"""


class Address(click.ParamType["ListenAddress"]):
    """HOST:PORT."""

    name = "host:port"

    def convert(
        self, value: str | ListenAddress, param: click.Parameter | None, ctx: click.Context | None
    ) -> ListenAddress:
        from volcano_py.observe.listen import ListenAddress

        try:
            return ListenAddress.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(epilog=EPILOG)
@click.option(
    "--listen-address",
    type=Address(),
    default="127.0.0.1:0",
    show_default=True,
    help="Where the page is served; port 0 takes a free one.",
)
@click.option("--no-browser", is_flag=True, help="Open no browser, only print the address.")
@click.option(
    "--namespace",
    "-n",
    type=LABEL,
    help="Where you may not read all namespaces: the one to show. [default: that of the context, or else default]",
)
@source_options
def ui(listen_address: ListenAddress, no_browser: bool, namespace: str | None, source: Source) -> None:
    """Show a cluster in the browser: queues, jobs and why they wait, nodes, evictions, the configuration, trials."""
    from volcano_py.observe.listen import ListenError
    from volcano_py.scheduler import builtin_registry
    from volcano_py.ui.cluster import ClusterError

    log_aside()
    registry = builtin_registry().with_installed()

    def ready(url: str) -> None:
        click.echo(url)
        if not no_browser:
            webbrowser.open(url)

    try:
        if source.files:
            _of_files(source, registry, listen_address, ready)
        else:
            _of_cluster(source, namespace, registry, listen_address, ready)
    except (ClusterError, ListenError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt as interrupt:
        raise click.exceptions.Exit(INTERRUPTED) from interrupt


def _of_files(source: Source, registry: Registry, address: ListenAddress, ready: Callable[[str], None]) -> None:
    from volcano_py.ui.cluster import Cluster
    from volcano_py.ui.serving import serve

    async def work() -> None:
        cluster = Cluster.of_capture(source.capture(), ", ".join(map(str, source.files)), registry)
        await serve(cluster, address, ready)

    asyncio.run(work())


def _of_cluster(
    source: Source, namespace: str | None, registry: Registry, address: ListenAddress, ready: Callable[[str], None]
) -> None:
    from volcano_py.ui.cluster import Cluster
    from volcano_py.ui.serving import serve

    async def work(client: KubernetesClient) -> None:
        cluster = Cluster(
            client.connection.server,
            registry,
            scheduler_names=frozenset(source.scheduler_names or (DEFAULT_SCHEDULER_NAME,)),
            default_queue=source.default_queue or DEFAULT_QUEUE,
        )
        own = namespace_of(client, namespace)
        async with cluster.following(client, config_namespace=source.config_namespace, namespace=own):
            await serve(cluster, address, ready)

    on_cluster(source.kubeconfig, source.context, work)
