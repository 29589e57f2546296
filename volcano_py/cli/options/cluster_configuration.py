"""The configuration that the scheduler of a cluster reads from its ConfigMap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from volcano_py.api.names import CONFIG_MAP

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.config import Problem, SchedulerConfiguration
    from volcano_py.framework.registry import Registry

_NAMESPACE: Final = "volcano-system"
_ANOTHER: Final = "--scheduler-conf FILE uses another configuration here."


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


def configuration_or_built_in(
    text: str, source: str, registry: Registry, *, can_be_named: bool = True
) -> SchedulerConfiguration:
    """A cluster's configuration; where it is invalid, the built-in one, with a warning on standard error.

    Most users cannot fix the ConfigMap, so it is no error. The daemon publishes only the digest of the configuration
    that it keeps in force meanwhile. `can_be_named`: the verb's `--scheduler-conf` would replace the configuration.
    """
    from volcano_py.config import format_problems, parse_configuration

    parsed = parse_configuration(text, registry.catalogue(), source=source)
    if parsed.config is not None:
        return parsed.config
    why = (
        f"The configuration in {source} is invalid; the built-in one is used instead:\n"
        f"{format_problems(parsed.errors, text, source=source)}\n"
        f"{_at_the_scheduler(parsed.errors)}"
    )
    return built_in(why, registry, can_be_named=can_be_named)


def built_in(why: str, registry: Registry, *, can_be_named: bool = True) -> SchedulerConfiguration:
    """The built-in configuration, with a warning on standard error that says why it is used."""
    from volcano_py.config import default_configuration_text, parse_configuration

    click.echo(f"{why}\n{_ANOTHER}" if can_be_named else why, err=True)
    configuration = parse_configuration(default_configuration_text(), registry.catalogue()).config
    assert configuration is not None, "the built-in configuration is valid"
    return configuration


def _at_the_scheduler(errors: Sequence[Problem]) -> str:
    """What the scheduler of the cluster does about it."""
    from volcano_py.config import Code

    keeps = "The scheduler may decide otherwise: it keeps the last valid configuration that it had, or decides nothing."
    if all(error.code in (Code.UNKNOWN_PLUGIN, Code.UNKNOWN_ACTION) for error in errors):
        return f"{keeps}\nIf it has that plugin or action, this configuration is valid there: install it here, too."
    return keeps
