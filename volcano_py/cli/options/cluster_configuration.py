"""The configuration that the scheduler of a cluster reads from its ConfigMap."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from volcano_py.api.names import CONFIG_MAP

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient

_NAMESPACE: Final = "volcano-system"


def config_namespace_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--config-namespace`, as the argument `config_namespace`."""
    return click.option(
        "--config-namespace",
        default=_NAMESPACE,
        show_default=True,
        help="Namespace of the scheduler's ConfigMap.",
    )(command)


def source_name(namespace: str) -> str:
    """How messages name the ConfigMap."""
    return f"ConfigMap {namespace}/{CONFIG_MAP}"


async def configuration_of_cluster(client: KubernetesClient, namespace: str) -> tuple[str | None, str]:
    """The text of the configuration, and "", or None and why it is not to be had."""
    from volcano_py.cluster.kubernetes.http.errors import ApiError
    from volcano_py.cluster.kubernetes.http.paths import ApiPath
    from volcano_py.cluster.kubernetes.watching.kinds import ConfigMap
    from volcano_py.config.config_key import config_key, no_config_key

    source = source_name(namespace)
    try:
        found = await client.read(ApiPath("v1", "configmaps", namespace).of(CONFIG_MAP), ConfigMap)
    except ApiError as error:
        return None, f"{source} cannot be read: {error}"
    key = config_key(found.data)
    return (found.data[key], "") if key is not None else (None, f"{source}: {no_config_key(found.data)}")
