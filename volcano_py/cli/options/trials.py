"""Options of the verbs that try something on a copy of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from volcano_py.cli.printing.output import output_option

FINDINGS: Final = ("changes", "evictions", "stops", "waits")
_CYCLES: Final = 500


def trial_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--fail-on`, `--cycles` and `--output`, as the arguments `fail_on`, `cycles` and `output`."""
    fail_on = click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice((*FINDINGS, "nothing")),
        default=("changes",),
        show_default=True,
        help="Exit 3 when something changes, when pods are evicted, when work that would run does not, or when more"
        " work waits or waits for another reason. nothing: always exit 0 (repeatable).",
    )
    cycles = click.option(
        "--cycles",
        type=click.IntRange(min=1),
        default=_CYCLES,
        show_default=True,
        help="End a run that has not settled after this many cycles.",
    )
    return fail_on(cycles(output_option()(command)))
