"""The name of an object that a verb is about: `NAME`, or `--name NAME` as vcctl has it. Shells complete it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import click

from volcano_py.cli.options.live_names import NamesOf

_POSITIONAL: Final = "positional_name"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def name_option(
    short: str, kind: click.ParamType[str], names: NamesOf, *, required: bool, text: str, noun: str
) -> Decorator:
    """The argument `name`, with the short option `short`. `names` completes it; `noun` is what errors call the object.

    Raises (from the verb):
        click.UsageError: there is no name and one is `required`, or there are two.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def named(*args: Any, name: str | None, **given: Any) -> Any:
            positional: str | None = given.pop(_POSITIONAL)
            if name is not None and positional is not None:
                raise click.UsageError(f"{positional} and --name {name} both name the {noun}: use only one of them")
            chosen = name if positional is None else positional
            if required and chosen is None:
                path = click.get_current_context().command_path
                raise click.UsageError(f"name the {noun}: {path} NAME")
            return command(*args, name=chosen, **given)

        option = click.option("--name", short, type=kind, help=text, shell_complete=names)
        argument = click.argument(_POSITIONAL, type=kind, required=False, metavar="[NAME]", shell_complete=names)
        return option(argument(named))

    return decorate
