"""`volcano-py history`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from volcano_py.cli.options.object_names import kind_and_name
from volcano_py.cli.printing.output import output_option

EPILOG: Final = """\b
Examples:
  volcano-py history podgroup team/train --record /var/lib/volcano-py/record
  volcano-py history job team/train --record /var/lib/volcano-py/record
  volcano-py history queue research --record /var/lib/volcano-py/record -o json
  volcano-py history queue research --record /var/lib/volcano-py/record --plot research.svg
  volcano-py history podgroup team/train --record /var/lib/volcano-py/record --plot train.svg

A picture needs matplotlib: pip install 'volcano-py[plot]'. The end of the file's name says its format: .svg or
.png, for example.
"""


@click.command(epilog=EPILOG)
@kind_and_name({"podgroup": None, "job": None, "queue": None}, click.STRING)
@click.option(
    "--record",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The folder that `volcano-py run --record` writes.",
)
@click.option(
    "--plot",
    "picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.svg",
    help="Draw it instead: what a queue held and deserved, and how many PodGroups waited; how many pods of a PodGroup "
    "had a place and how many waited; and what was evicted.",
)
@output_option()
def history(kind: str, name: str, directory: Path, picture: Path | None, output: str) -> None:
    """Print what a record has of a PodGroup or a Job's (namespace/name; a name alone is in `default`), or of a queue.

    KIND is podgroup, job or queue, and may be written as kubectl has it: history pg/train. Of Jobs of the same name,
    the newest is meant.
    """
    from volcano_py.record.segments import RecordError, segments

    try:
        paths = segments(directory)
        if kind == "job":
            group = _group_of_job(paths, name)
            if not group:
                raise _missing(kind, name, directory)
            kind, name = "podgroup", group
        if picture is not None:
            _draw(paths, kind, name, picture, directory)
            return
        rows = _of_pod_group(paths, name) if kind == "podgroup" else _of_queue(paths, name)
    except RecordError as error:
        raise click.ClickException(str(error)) from error
    if not rows:
        raise _missing(kind, name, directory)
    _print(rows, output)


def _missing(kind: str, name: str, directory: Path) -> click.ClickException:
    return click.ClickException(f"the record in {directory} has no {kind} {name}")


def _draw(paths: Sequence[Path], kind: str, name: str, picture: Path, directory: Path) -> None:
    from volcano_py.cli.records.plotting import plot_pod_group, plot_queue
    from volcano_py.record.evictions import of_evictions
    from volcano_py.record.history import last_moment, of_queue, pods_of

    figures = [*of_queue(paths, name)] if kind == "queue" else []
    counts, pods = pods_of(paths, _key(name)) if kind == "podgroup" else ([], frozenset())
    if not figures and not counts:
        raise _missing(kind, name, directory)
    evictions, until = of_evictions(paths), last_moment(paths)
    try:
        if kind == "queue":
            plot_queue(picture, name, figures, evictions, until)
        else:
            plot_pod_group(picture, _key(name), counts, pods, evictions, until)
    except ImportError as error:
        raise click.ClickException(f"--plot needs matplotlib ({error}): pip install 'volcano-py[plot]'") from error
    except OSError as error:
        raise click.ClickException(f"{picture}: {error.strerror}") from error
    except ValueError as error:
        raise click.ClickException(f"{picture}: {error}") from error


def _of_pod_group(paths: Iterable[Path], name: str) -> list[dict[str, Any]]:
    from volcano_py.cli.printing.listing import moment
    from volcano_py.record.history import of_pod_group

    return [{"time": moment(each.at), "what": each.what, "text": each.text} for each in of_pod_group(paths, _key(name))]


def _group_of_job(paths: Iterable[Path], name: str) -> str:
    from volcano_py.record.history import group_of_job

    return group_of_job(paths, _key(name))


def _key(name: str) -> str:
    """namespace/name of a PodGroup."""
    return name if "/" in name else f"default/{name}"


def _of_queue(paths: Iterable[Path], name: str) -> list[dict[str, Any]]:
    from volcano_py.cli.printing.listing import moment
    from volcano_py.record.history import of_queue
    from volcano_py.state.table.units import canonical

    def quantities(amounts: Any) -> dict[str, str]:
        return {resource: canonical(resource, units) for resource, units in amounts.items()}

    return [
        {
            "time": moment(each.at),
            "allocated": quantities(each.figures.allocated),
            "deserved": quantities(each.figures.deserved),
            "waiting": each.figures.waiting,
        }
        for each in of_queue(paths, name)
    ]


def _print(rows: list[dict[str, Any]], output: str) -> None:
    from rich.table import Table

    from volcano_py.cli.printing.one_line import plain
    from volcano_py.cli.printing.output import console, print_data

    if output != "table":
        print_data(rows, output)
        return
    table = Table(*(column.capitalize() for column in rows[0]))
    for row in rows:
        table.add_row(*(plain(_cell(value)) for value in row.values()))
    console().print(table)


def _cell(value: Any) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in value.items()) if isinstance(value, dict) else str(value)
