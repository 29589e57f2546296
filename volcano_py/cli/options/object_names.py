"""The object that a verb is about: `NAME`, or `--name NAME` as vcctl has it; `KIND NAME`, or `KIND/NAME` as kubectl has
it. Shells complete names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


class _Kind(click.Choice[str]):
    """One of these kinds, in any spelling of kubectl's, and, after a slash, a name: `pg/train` is `podgroup/train`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word, slash, name = str(value).partition("/")
        if word not in self.choices:
            from volcano_py.what_if.targets import WORDS

            meant = WORDS.get(word.lower())
            word = next((each for each in self.choices if WORDS[each] == meant), word)
        return f"{super().convert(word, param, ctx)}{slash}{name}"


def kind_and_name(names: Mapping[str, NamesOf | None], kind_of_name: click.ParamType[str]) -> Decorator:
    """The arguments `kind` and `name`, written as two words or as one with a slash. `names`: kind → what completes its
    names.

    Raises (from the verb):
        click.UsageError: there is no name, there are two, or it is no `kind_of_name`.
    """

    def completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        known = names.get(ctx.params.get("kind", ""))
        return [] if known is None else known(ctx, param, incomplete)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def named(*args: Any, kind: str, name: str | None, **given: Any) -> Any:
            kind, slash, after = kind.partition("/")
            context = click.get_current_context()
            if slash and name is not None:
                raise click.UsageError(f"{kind}/{after} has a name already: leave out {name}")
            if not (after or name):
                raise click.UsageError(f"name the {kind}: {context.command_path} {kind}/NAME")
            argument = next(each for each in context.command.params if each.name == "name")
            return command(*args, kind=kind, name=name or kind_of_name.convert(after, argument, context), **given)

        kinds = click.argument("kind", type=_Kind(tuple(names)), metavar="KIND[/NAME]")
        return kinds(click.argument("name", type=kind_of_name, required=False, shell_complete=completed)(named))

    return decorate
