"""docs/reference/cli.md: every verb with its options, from the very objects that parse the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from volcano_py.cli.main import main
from volcano_py.cli.reference import MARK
from volcano_py.cli.reference.markdown import cell, code, paragraphs, spaced, table

_PROGRAM: Final = "volcano-py"
_DEFAULT_IN_TEXT: Final = re.compile(r"\s*\[default: ([^\]]+)\]")
_WITHOUT_EFFECT: Final = """\
These flags of Volcano's scheduler are accepted, so that its manifests can be carried over, and change nothing; each
use is logged:"""


def commands_page() -> str:
    """docs/reference/cli.md."""
    context = click.Context(main, info_name=_PROGRAM)
    blocks: list[Sequence[str]] = [[MARK], ["# Command line"], *_described(main, context)]
    for command, below in _commands(main, context):
        blocks += [[f"## {below.command_path}"], *_described(command, below)]
    return "\n".join(spaced(blocks)) + "\n"


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """All verbs below a group, depth first, in the order of its help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        below = click.Context(command, info_name=name, parent=context)
        yield command, below
        if isinstance(command, click.Group):
            yield from _commands(command, below)


def _described(command: click.Command, context: click.Context) -> Iterator[Sequence[str]]:
    yield from ([paragraph] for paragraph in paragraphs(command.help))
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield ["```text", usage, "```"]
    options = [param for param in command.params if isinstance(param, click.Option)]
    shown = [option for option in options if not option.hidden]
    if shown:
        yield table(("Option", "Default", "Meaning"), (_row(option) for option in shown))
    if isinstance(command, click.Group):
        yield [f"- [`{below.command_path}`](#{_anchor(below)})" for _, below in _commands(command, context)]
    hidden = sorted(f"`{option.opts[0]}`" for option in options if option.hidden)
    if hidden:
        yield [*_WITHOUT_EFFECT.splitlines(), f"{', '.join(hidden)}."]
    examples = _examples(command)
    if examples:
        yield ["Examples:"]
        yield ["```sh", *examples, "```"]
    yield from ([paragraph] for paragraph in _afterword(command))


def _anchor(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _row(option: click.Option) -> tuple[str, str, str]:
    names = ", ".join(code(name) for name in (*sorted(option.opts, key=len, reverse=True), *option.secondary_opts))
    text = " ".join((option.help or "").split())
    found = _DEFAULT_IN_TEXT.search(text)
    text = _DEFAULT_IN_TEXT.sub("", text)
    default = found.group(1) if found else _default(option)
    if option.multiple and "repeatable" not in text:
        text = f"{text} Repeatable.".strip()
    return f"{names}{_values(option)}", "required" if option.required else _default_cell(default, option), cell(text)


def _values(option: click.Option) -> str:
    """What may be given, after the name: nothing for a flag without a value."""
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return " " + " or ".join(code(str(choice)) for choice in option.type.choices)
    if isinstance(option.type, click.IntRange | click.FloatRange):
        low, high = option.type.min, option.type.max
        bounds = [f"from {low}" if low is not None else "", f"to {high}" if high is not None else ""]
        return " ".join(["", option.type.name.removesuffix(" range"), *filter(None, bounds)])
    return f" {option.type.name}"


def _default(option: click.Option) -> str:
    # In the dictionary an option without a default has None, elsewhere a private mark of click's.
    value: Any = option.to_info_dict()["default"] if option.show_default else None
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case tuple() | list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _default_cell(default: str, option: click.Option) -> str:
    """A default that is written in words stays words."""
    is_value = option.show_default or not re.search(r"[ ,]", default)
    return code(default) if is_value else cell(default)


def _examples(command: click.Command) -> list[str]:
    """The indented lines below `Examples:` in the epilog."""
    lines = (command.epilog or "").splitlines()
    if "Examples:" not in lines:
        return []
    below = lines[lines.index("Examples:") + 1 :]
    return [line.strip() for line in below if line.startswith("  ")]


def _afterword(command: click.Command) -> list[str]:
    """What the epilog says apart from its examples."""
    kept = [line for line in (command.epilog or "").splitlines() if not line.startswith("  ")]
    return paragraphs("\n".join(line for line in kept if line not in ("\b", "Examples:")))
