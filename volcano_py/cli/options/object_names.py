"""The object that a verb is about: `NAME`, or `--name NAME` as vcctl has it; `KIND NAME`, or `KIND/NAME` as kubectl has
it. Shells complete names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from volcano_py.cli.options.live_names import NamesOf

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

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

    def __init__(self, names: Mapping[str, NamesOf | None]) -> None:
        super().__init__(tuple(names))
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word, slash, name = str(value).partition("/")
        return f"{super().convert(self._meant(word), param, ctx)}{slash}{name}"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        word, slash, begun = incomplete.partition("/")
        if not slash:
            return super().shell_complete(ctx, param, incomplete)
        return [CompletionItem(f"{word}/{each.value}") for each in self.names(word, ctx, param, begun)]

    def names(self, word: str, ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        """The names of this kind that begin so."""
        known = self._names.get(self._meant(word))
        return [] if known is None else known(ctx, param, begun)

    def _meant(self, word: str) -> str:
        """The kind of which this is a spelling, or the word as it is."""
        if word in self.choices:
            return word
        from volcano_py.what_if.targets import WORKLOADS

        meant = WORKLOADS.get(word.lower())
        return next((each for each in self.choices if WORKLOADS[each] == meant), word)


def kind_and_name(names: Mapping[str, NamesOf | None], kind_of_name: click.ParamType[str]) -> Decorator:
    """The arguments `kind` and `name`, written as two words or as one with a slash. `names`: kind → what completes its
    names.

    Raises (from the verb):
        click.UsageError: there is no name, there are two, or it is no `kind_of_name`.
    """
    kinds = _Kind(names)

    def completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return kinds.names(ctx.params.get("kind", ""), ctx, param, incomplete)

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

        first = click.argument("kind", type=kinds, metavar="KIND[/NAME]")
        return first(click.argument("name", type=kind_of_name, required=False, shell_complete=completed)(named))

    return decorate
