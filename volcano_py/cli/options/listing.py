"""The options of verbs that list objects of a namespace, or of all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from volcano_py.cli.options.cluster_access import (
    cluster_options,
    namespace_of,
    namespace_option,
    on_cluster,
)
from volcano_py.cli.printing.output import output_option
from volcano_py.cli.printing.show import Shown, show, watch_option

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient

_all_namespaces_option = click.option("--all-namespaces", "-A", is_flag=True, help="List all namespaces.")


class Listed(msgspec.Struct, frozen=True):
    """What the options say. `namespace`: None when it is that of the context."""

    namespace: str | None
    all_namespaces: bool
    watch: bool
    output: str
    kubeconfig: Path | None
    context: str | None

    def show(self, shown: Callable[[KubernetesClient, str], Shown]) -> None:
        """Print the objects that `shown` names of a client and a namespace ("": all of them).

        Raises:
            click.ClickException: there is no cluster, or it refuses.
        """

        async def work(client: KubernetesClient) -> None:
            where = "" if self.all_namespaces else namespace_of(client, self.namespace)
            await show(client, shown(client, where), self.output, watch=self.watch)

        on_cluster(self.kubeconfig, self.context, work)


def list_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--namespace`, `--all-namespaces`, `--watch`, `--output` and the cluster, as the argument `listed`.

    A mistake needs no cluster to be seen: click.UsageError when both a namespace and all of them are asked for.
    """

    @namespace_option
    @_all_namespaces_option
    @watch_option
    @output_option()
    @cluster_options
    @wraps(command)
    def with_options(
        *,
        namespace: str | None,
        all_namespaces: bool,
        watch: bool,
        output: str,
        kubeconfig: Path | None,
        context: str | None,
        **own: Any,
    ) -> Any:
        if namespace and all_namespaces:
            raise click.UsageError("--all-namespaces and --namespace exclude each other: use only one of them")
        return command(listed=Listed(namespace, all_namespaces, watch, output, kubeconfig, context), **own)

    return with_options
