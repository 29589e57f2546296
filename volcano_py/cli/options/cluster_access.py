"""How verbs connect to a cluster: the options that choose it, and errors that say what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from volcano_py.cli.options.names import LABEL
from volcano_py.cli.printing.output import log_aside

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.cluster.kubernetes.http.errors import RequestError

T = TypeVar("T")

DEFAULT_NAMESPACE: Final = "default"
INTERRUPTED: Final = 130
"""The exit status of a program that SIGINT ended, as shells have it: 128 and the signal's number."""


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--kubeconfig` and `--context`, as the arguments `kubeconfig` and `context`."""
    context = click.option("--context", help="Context of the kubeconfig. [default: its current one]")
    kubeconfig = click.option(
        "--kubeconfig", "-k", type=click.Path(path_type=Path, dir_okay=False), help="[default: in-cluster, $KUBECONFIG]"
    )
    return kubeconfig(context(command))


def namespace_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--namespace`/`-n`, as the argument `namespace`: None when it is the context's."""
    return click.option(
        "--namespace", "-n", type=LABEL, help="Namespace. [default: that of the context, or else default]"
    )(command)


def on_cluster(kubeconfig: Path | None, context: str | None, work: Callable[[KubernetesClient], Awaitable[T]]) -> T:
    """What `work` makes of a client for the cluster. Interrupting it (a watch, say) ends the process quietly.

    Raises:
        click.ClickException: there is no cluster, or it refuses.
    """
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
    from volcano_py.cluster.kubernetes.http.errors import RequestError

    async def connected() -> T:
        async with await KubernetesClient.connect(kubeconfig, context) as client:
            return await work(client)

    log_aside()
    try:
        return asyncio.run(connected())
    except KeyboardInterrupt as interrupt:
        # Ctrl-C is the only way to end a watch, so it is no failure to report.
        raise click.exceptions.Exit(INTERRUPTED) from interrupt
    except CredentialsError as error:
        raise click.ClickException(str(error)) from error
    except RequestError as error:
        raise click.ClickException(explained(error)) from error


def namespace_of(client: KubernetesClient, asked: str | None) -> str:
    """The namespace to work in: the one asked for, or else that of the kubeconfig's context."""
    return asked or client.credentials.namespace or DEFAULT_NAMESPACE


def explained(error: RequestError) -> str:
    """The error, and what to do about it where that is known."""
    from volcano_py.cluster.kubernetes.http.errors import (
        ApiError,
        ForbiddenError,
        NotFoundError,
        UnauthorizedError,
        UnreachableError,
    )

    if isinstance(error, NotFoundError) and is_api_missing(error):
        fix = "install the CustomResourceDefinitions: kubectl apply -k crds"
        return f"the cluster does not serve {error.path}; {fix}"
    if isinstance(error, ForbiddenError):
        return f"{error.message or error}; ask the cluster's administrator for the right, or use another --context"
    if isinstance(error, UnauthorizedError):
        return (
            f"the cluster does not accept the login: {error.message or error}; log in again, or use another --context"
        )
    if isinstance(error, UnreachableError):
        return f"{error}; is the cluster up, and the one of your --context?"
    if isinstance(error, ApiError) and error.message:
        return error.message
    return str(error)


def is_api_missing(error: RequestError) -> bool:
    """Whether the server does not know the resource, rather than the one object or namespace that was asked for."""
    from volcano_py.cluster.kubernetes.http.errors import NotFoundError

    # For an object that does not exist the server says which, in the details of its answer.
    return isinstance(error, NotFoundError) and not error.details.get("name")
