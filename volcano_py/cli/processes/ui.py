"""`volcano-py ui`."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
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
  volcano-py ui --record /var/lib/volcano-py/record --at 412
  volcano-py ui --listen-address 127.0.0.1:8765
  volcano-py ui --sign-in --tls-cert-dir /tls --listen-address :8443    # in a cluster, for all of its users

The page follows the cluster by watches of its own and writes nothing. Only the address that is printed opens it: the
token in it is new at each start. Ctrl-C ends it.

With --sign-in, users sign in with a Kubernetes token, and each sees what a SubjectAccessReview lets that user list.
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
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="Show a record that `volcano-py run --record` has written: its timeline, and the cluster at its end.",
)
@click.option("--at", type=click.IntRange(min=1), metavar="CYCLE", help="With --record: as this cycle found it.")
@click.option("--sign-in", is_flag=True, help="Serve many users: each signs in with a Kubernetes token.")
@click.option(
    "--tls-cert-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --sign-in: directory with tls.crt and tls.key, such as a mounted Secret.",
)
@click.option(
    "--behind-tls-proxy",
    is_flag=True,
    help="With --sign-in: a proxy terminates TLS and is the only way to this address; serve plain HTTP to it.",
)
@source_options
def ui(
    listen_address: ListenAddress,
    no_browser: bool,
    namespace: str | None,
    record: Path | None,
    at: int | None,
    sign_in: bool,
    tls_cert_dir: Path | None,
    behind_tls_proxy: bool,
    source: Source,
) -> None:
    """Show a cluster in the browser: queues, jobs and why they wait, nodes, evictions, the configuration, trials."""
    from volcano_py.cli.processes.serving import SWITCH_INTERVAL
    from volcano_py.daemon.garbage import collect_seldom
    from volcano_py.observe.listen import ListenError
    from volcano_py.scheduler import builtin_registry
    from volcano_py.ui.cluster import ClusterError

    if record is not None and source.is_given:
        raise click.UsageError("--record shows a record: leave out --from and the options of a cluster")
    if at is not None and record is None:
        raise click.UsageError("--at names a cycle of a record: name the record with --record")
    _check_sign_in(
        sign_in, tls_cert_dir, behind_tls_proxy=behind_tls_proxy, is_cluster=record is None and not source.files
    )
    # As in the daemon: what a thread computes, and a look for garbage among all objects, would delay updates.
    collect_seldom()
    sys.setswitchinterval(SWITCH_INTERVAL)
    log_aside()
    registry = builtin_registry().with_installed()

    def ready(url: str) -> None:
        click.echo(url)
        if not no_browser and not sign_in:
            webbrowser.open(url)

    try:
        if record is not None:
            _of_record(record, at, registry, listen_address, ready)
        elif source.files:
            _of_files(source, registry, listen_address, ready)
        else:
            _of_cluster(source, namespace, registry, listen_address, ready, sign_in=sign_in, certificates=tls_cert_dir)
    except (ClusterError, ListenError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt as interrupt:
        raise click.exceptions.Exit(INTERRUPTED) from interrupt


def _check_sign_in(sign_in: bool, certificates: Path | None, *, behind_tls_proxy: bool, is_cluster: bool) -> None:
    if not sign_in:
        if certificates is not None or behind_tls_proxy:
            raise click.UsageError("--tls-cert-dir and --behind-tls-proxy are for a page with --sign-in")
        return
    if not is_cluster:
        raise click.UsageError("--sign-in is for a live cluster: leave out --from and --record")
    if (certificates is not None) == behind_tls_proxy:
        raise click.UsageError(
            "--sign-in requires TLS, because tokens and cookies are sent: name a directory with tls.crt and tls.key"
            " (--tls-cert-dir), or say that a proxy terminates TLS (--behind-tls-proxy)"
        )


def _of_files(source: Source, registry: Registry, address: ListenAddress, ready: Callable[[str], None]) -> None:
    from volcano_py.ui.cluster import Cluster
    from volcano_py.ui.serving import serve

    async def work() -> None:
        cluster = Cluster.of_capture(source.capture(), ", ".join(map(str, source.files)), registry)
        await serve(cluster, address, ready)

    asyncio.run(work())


def _of_record(
    record: Path, at: int | None, registry: Registry, address: ListenAddress, ready: Callable[[str], None]
) -> None:
    from volcano_py.record.moment import capture_at
    from volcano_py.record.segments import RecordError, in_order, segments
    from volcano_py.ui.board.recorded import samples_of
    from volcano_py.ui.cluster import Cluster
    from volcano_py.ui.serving import serve

    try:
        paths = segments(record)
        samples = samples_of(in_order(paths))
        if not samples:
            raise RecordError(f"{record}: no cycle has ended in it yet")
        cycle = at or max(samples.values(), key=lambda sample: sample.at).cycle
        capture = capture_at(paths, cycle)
    except RecordError as error:
        raise click.ClickException(str(error)) from error

    async def work() -> None:
        await serve(Cluster.of_capture(capture, f"{record}, cycle {cycle}", registry), address, ready, samples)

    asyncio.run(work())


def _of_cluster(
    source: Source,
    namespace: str | None,
    registry: Registry,
    address: ListenAddress,
    ready: Callable[[str], None],
    *,
    sign_in: bool,
    certificates: Path | None,
) -> None:
    from volcano_py.ui.access import Shared
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
        shared = Shared(client, source.config_namespace, certificates) if sign_in else None
        async with cluster.following(client, config_namespace=source.config_namespace, namespace=own):
            await serve(cluster, address, ready, shared=shared)

    on_cluster(source.kubeconfig, source.context, work)
