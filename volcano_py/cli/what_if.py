"""`volcano-py what-if`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from volcano_py.cli.options.captured import Source, source_options
from volcano_py.cli.options.trials import trial_options

if TYPE_CHECKING:
    from volcano_py.what_if.changes import Change

EPILOG = """\b
Examples:
  volcano-py what-if --add-nodes gpu-1=3                     # on the live cluster, read with your own rights
  volcano-py what-if --from cluster.capture --set queue/research.spec.capability.cpu=20
  volcano-py what-if --submit job.yaml --delete podgroup/team/old --fail-on evictions
  volcano-py what-if --remove-node rack7-3 --scheduler-conf new.conf -o json

The scheduler runs in memory until nothing changes, without the changes and with all of them, and what differs is
printed. Nothing is written to the cluster. Exits 0 when nothing changes, 3 when something does (see --fail-on), and 1
or 2 on errors.
"""


@click.command("what-if", epilog=EPILOG)
@click.option(
    "--add-nodes",
    multiple=True,
    metavar="NODE=COUNT",
    help="With this many more empty nodes like this one (repeatable).",
)
@click.option(
    "--remove-node",
    multiple=True,
    metavar="NODE",
    help="Without this node. Pods that a controller creates again wait (repeatable).",
)
@click.option("--cordon", multiple=True, metavar="NODE", help="With this node unschedulable (repeatable).")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KIND/NAME.FIELD=VALUE",
    help="With this field of an object, such as queue/research.spec.weight=3; null removes it (repeatable).",
)
@click.option(
    "--submit",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="With the objects of this manifest file or folder (repeatable); - reads standard input.",
)
@click.option(
    "--delete",
    multiple=True,
    metavar="KIND/NAME",
    help="Without this object and what it owns; a namespace may stand before the name (repeatable).",
)
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With this volcano-scheduler.conf, or ConfigMap with one in it.",
)
@trial_options
@source_options
def what_if(
    add_nodes: tuple[str, ...],
    remove_node: tuple[str, ...],
    cordon: tuple[str, ...],
    settings: tuple[str, ...],
    submit: tuple[Path, ...],
    delete: tuple[str, ...],
    scheduler_conf: Path | None,
    source: Source,
    fail_on: tuple[str, ...],
    cycles: int,
    output: str,
) -> None:
    """Try changes on a copy of a cluster: which pods start, wait or are evicted for others, and what lies idle.

    Changes are made in this order: --delete, --remove-node, --add-nodes, --cordon, --submit, --set.
    """
    from volcano_py.cli.options.manifests import read_documents
    from volcano_py.cli.trials.running import run_trial
    from volcano_py.what_if import changes as of

    changes: list[Change] = [
        *map(of.Delete, delete),
        *map(of.RemoveNode, remove_node),
        *map(of.AddNodes, add_nodes),
        *map(of.Cordon, cordon),
        *([of.Submit(tuple(read_documents(submit)))] if submit else ()),
        *map(of.SetField, settings),
    ]
    if not changes and scheduler_conf is None:
        raise click.UsageError("name a change to try, such as --add-nodes gpu-1=3; see --help")
    run_trial(source, changes=changes, scheduler_conf=scheduler_conf, fail_on=fail_on, cycles=cycles, output=output)
