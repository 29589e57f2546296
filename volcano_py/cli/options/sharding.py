"""`--scheduler-sharding-mode` and `--scheduler-sharding-name`, named as Volcano's flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from volcano_py.api.shards.sharding import Sharding

_MODES: Final = ("none", "hard", "soft")


def sharding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Both options, as the arguments `sharding_mode` and `sharding_name`."""
    mode = click.option(
        "--scheduler-sharding-mode",
        "sharding_mode",
        type=click.Choice(_MODES),
        help="hard: use only the nodes of our NodeShard; soft: use other nodes only if none of those will do. "
        "[default: none; hard where a shard is named]",
    )
    name = click.option(
        "--scheduler-sharding-name",
        "--shard-name",
        "sharding_name",
        help="Name of our NodeShard. [default: volcano]",
    )
    return mode(name(command))


def sharding_of(mode: str | None, name: str | None) -> Sharding | None:
    """The shard that these options stand for; None for none.

    Raises:
        click.BadParameter: no NodeShard can have the name.
    """
    if mode == "none" or (mode is None and name is None):
        return None
    from volcano_py.api.dns_names import is_subdomain
    from volcano_py.api.names import DEFAULT_SCHEDULER_NAME
    from volcano_py.api.shards.sharding import Sharding, ShardingMode

    name = DEFAULT_SCHEDULER_NAME if name is None else name
    if not is_subdomain(name):
        raise click.BadParameter(f"{name!r} is not the name of an object", param_hint="--scheduler-sharding-name")
    return Sharding(name, ShardingMode(mode or "hard"))
