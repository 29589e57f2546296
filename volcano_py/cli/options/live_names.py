"""Names that the cluster has, for shells that complete them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import click

from volcano_py.api.names import SCHEDULING_API

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

NamesOf = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

_PATIENCE: Final = 2.0
"""Seconds. Whoever pressed Tab waits for it."""
_MOST: Final = 1000
"""How many names are offered: more cannot be read, and a list of all would be slow."""


def names_of(api_version: str, kind: str, *, namespaced: bool = True) -> NamesOf:
    """The names of objects of a kind that begin as typed: of the namespace, kubeconfig and context on the line so far.

    There are none where the cluster does not answer, or not soon: a Tab reports no errors.
    """

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        try:
            found = asyncio.run(asyncio.wait_for(_listed(ctx, api_version, kind, namespaced), _PATIENCE))
        except Exception:
            return []
        return [CompletionItem(name) for name in sorted(found) if name.startswith(incomplete)]

    return complete


def all_of(*kinds: NamesOf) -> NamesOf:
    """The names of several kinds together."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = {item.value: item for names in kinds for item in names(ctx, param, incomplete)}
        return [found[name] for name in sorted(found)]

    return complete


def no_names(_ctx: click.Context, _param: click.Parameter, _incomplete: str) -> list[CompletionItem]:
    """For the name of an object that does not exist yet."""
    return []


QUEUES: Final = names_of(SCHEDULING_API, "Queue", namespaced=False)


async def _listed(ctx: click.Context, api_version: str, kind: str, namespaced: bool) -> list[str]:
    import orjson

    from volcano_py.cli.options.cluster_access import namespace_of
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.operator.kube_api import object_path

    given = ctx.params
    async with await KubernetesClient.connect(given.get("kubeconfig"), given.get("context")) as client:
        namespace = namespace_of(client, given.get("namespace")) if namespaced else ""
        answer = orjson.loads(await client.get(object_path(api_version, kind, namespace), {"limit": _MOST}))
        return [item["metadata"]["name"] for item in answer["items"]]
