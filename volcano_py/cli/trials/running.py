"""Run a trial, print it, and end with an exit status that says whether something changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import click

from volcano_py.capture.kinds import RIGHTS, essentials
from volcano_py.cli.options.captured import Source
from volcano_py.cli.options.cluster_configuration import configuration_or_built_in
from volcano_py.cli.options.configuration import load_configuration
from volcano_py.cli.printing.output import log_aside, print_data
from volcano_py.cli.trials.drawing import print_difference
from volcano_py.cli.trials.news import only_news
from volcano_py.scheduler import builtin_registry
from volcano_py.what_if.changes import Change, ChangeError
from volcano_py.what_if.trial import tried

FOUND: Final = 3
"""The exit status of a trial that found what it was to look for; 1 and 2 are those of errors."""


def run_trial(
    source: Source,
    *,
    changes: Sequence[Change] = (),
    scheduler_conf: Path | None,
    fail_on: Collection[str],
    cycles: int,
    output: str,
) -> None:
    """Try the changes, and the configuration if there is one, on the cluster or the capture that `source` names.

    Raises:
        click.ClickException: there is no cluster, too little of it can be read, or a change cannot be made.
        click.exceptions.Exit: something of `fail_on` was found.
    """
    log_aside()
    registry = builtin_registry().with_installed()
    new = load_configuration(scheduler_conf, registry) if scheduler_conf is not None else None
    capture = source.capture()
    if missing := [each.what for each in essentials(capture.unread)]:
        raise click.ClickException(f"nothing can be tried without {' and '.join(missing)} objects: {RIGHTS}")
    configuration = configuration_or_built_in(capture.configuration, capture.source, registry, can_be_named=False)
    try:
        with only_news() as news:
            found = tried(
                capture,
                registry,
                configuration,
                changes=changes,
                new_configuration=new,
                most_cycles=cycles,
                between=news.of_changes,
            )
    except ChangeError as error:
        raise click.ClickException(str(error)) from error
    if output == "table":
        print_difference(found, cycles)
    else:
        print_data(found.as_json(), output)
    if found.findings & {*fail_on}:
        raise click.exceptions.Exit(FOUND)
