"""How verbs print data: a table for people, JSON or YAML for programs."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO

import click
import orjson
import yaml
from rich.console import Console

_FILE_WIDTH: Final = 140
_LOOK_ALIKES: Final = "volcano_py.look_alikes"
_ALIKE: Final = {"█": "#", "▓": "+", "░": ".", "…": "~"}
FORMATS: Final = ("table", "json", "yaml")


def output_option(default: str = "table") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--output`/`-o` of every verb that prints data."""
    return click.option(
        "--output", "-o", type=click.Choice(FORMATS), default=default, show_default=True, help="How to print."
    )


def console() -> Console:
    """For tables; colours only on a terminal. A file or pipe has no width of its own: $COLUMNS, or else a wide one."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _FILE_WIDTH
    return Console(file=drawable(), highlight=False, width=width)


def drawable() -> TextIO:
    """Standard output. From now on look-alikes replace the bars and dots that its encoding does not have."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_LOOK_ALIKES)
    return sys.stdout


def _look_alikes(error: UnicodeError) -> tuple[str, int]:
    """What is written instead of characters that an encoding does not have, one for each, so that columns stay."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_ALIKE.get(each, "?") for each in error.object[error.start : error.end]), error.end


codecs.register_error(_LOOK_ALIKES, _look_alikes)


def print_data(data: Any, output: str) -> None:
    """Print `data` as JSON or YAML."""
    if output == "json":
        click.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
    else:
        click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), nl=False)


def log_aside(*, only_errors: bool = False) -> None:
    """What is logged goes to standard error from now on: standard output is for what was asked for."""
    import logging

    import structlog

    structlog.reset_defaults()  # a chain that is in force may need its own kind of logger
    # Looked up for each logger, as standard error may be another one by then.
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    if only_errors:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
