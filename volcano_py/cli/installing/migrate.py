"""`volcano-py migrate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from volcano_py.cli.options.cluster_access import cluster_options, on_cluster
from volcano_py.cli.printing.output import console, output_option, print_data

if TYPE_CHECKING:
    from volcano_py.capture.model import Capture
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.migrate.check import Program, Verdict
    from volcano_py.migrate.model import Installation, Raw
    from volcano_py.migrate.schedulers import Flags

BLOCKED: Final = 3
"""The exit status of `migrate check` when something blocks."""

_EXAMPLES = """\b
Examples:
  volcano-py migrate check                  # the cluster of your kubeconfig
  volcano-py migrate check -o json | jq '.findings[] | select(.level == "blocks")'
  volcano-py migrate check --filename examples/from-volcano   # objects of a file
  volcano-py migrate plan
"""


@click.group(epilog=_EXAMPLES)
def migrate() -> None:
    """Move a cluster over from Volcano: what stands in the way, and the steps."""


def _verb(command: Callable[..., Any]) -> Callable[..., Any]:
    files = click.option(
        "--filename",
        "-f",
        "files",
        multiple=True,
        type=click.Path(path_type=Path, exists=True),
        help="Look at the objects of this file or folder instead of a cluster (repeatable).",
    )
    jobs = click.option(
        "--jobs/--no-jobs",
        default=True,
        show_default=True,
        help="Run a first cycle in memory, on a copy of the cluster.",
    )
    return files(jobs(cluster_options(output_option()(command))))


@migrate.command(epilog=_EXAMPLES)
@_verb
def check(files: tuple[Path, ...], jobs: bool, kubeconfig: Path | None, context: str | None, output: str) -> None:
    """Say what stands in the way of moving over: schedulers, configuration, CRDs, webhooks, objects, metrics.

    Nothing is written. Exits 3 when something blocks.
    """
    _, verdict = _checked(files, kubeconfig, context, jobs=jobs)
    if output == "table":
        from volcano_py.cli.installing.printing import print_verdict

        print_verdict(console(), verdict)
    else:
        print_data(_data(verdict), output)
    if any(each.level == "blocks" for each in verdict.findings):
        raise SystemExit(BLOCKED)


@migrate.command(epilog=_EXAMPLES)
@_verb
def plan(files: tuple[Path, ...], jobs: bool, kubeconfig: Path | None, context: str | None, output: str) -> None:
    """Print the steps for this cluster, and how to go back. Nothing is done."""
    import msgspec

    from volcano_py.migrate.plan import plan_of

    found = plan_of(*_checked(files, kubeconfig, context, jobs=jobs))
    if output == "table":
        from volcano_py.cli.installing.printing import print_plan

        print_plan(console(), found)
    else:
        print_data(msgspec.to_builtins(found), output)


def _checked(
    files: tuple[Path, ...], kubeconfig: Path | None, context: str | None, *, jobs: bool
) -> tuple[Installation, Verdict]:
    from volcano_py.migrate.check import check as verdict_on

    program = current_program()
    if files:
        if kubeconfig or context:
            raise click.UsageError("--kubeconfig and --context name a cluster: leave them out with --filename")
        installation, capture = _in_files(files), None
    else:
        installation, capture = on_cluster(kubeconfig, context, lambda client: _read(client, program, jobs=jobs))
    return installation, verdict_on(installation, program, capture, datetime.now(UTC))


def _in_files(files: tuple[Path, ...]) -> Installation:
    from volcano_py.cluster.manifests import ManifestError, read_paths
    from volcano_py.migrate.reading import installation_in

    try:
        return installation_in(document.body for document in read_paths(files))
    except ManifestError as error:
        raise click.ClickException(str(error)) from error


async def _read(client: KubernetesClient, program: Program, *, jobs: bool) -> tuple[Installation, Capture | None]:
    from volcano_py.capture.live import of_cluster
    from volcano_py.migrate.reading import installation_of

    installation = await installation_of(client, program.crds)
    names = {each.scheduler_name for each in installation.schedulers()} or {"volcano"}
    return installation, await of_cluster(client, scheduler_names=names) if jobs else None


def current_program() -> Program:
    """What this version has: flags of `run`, plugins that are installed, CRDs."""
    from volcano_py.migrate.check import Program
    from volcano_py.scheduler import builtin_registry

    return Program(_flags(), builtin_registry().with_installed(), _crds())


def _flags() -> Flags:
    """Of `volcano-py run`, by their names without dashes."""
    from volcano_py.cli.processes.run import WITHOUT_EFFECT, run
    from volcano_py.migrate.schedulers import Flags

    defaults: dict[str, str | None] = {}
    for param in run.params:
        value = param.to_info_dict().get("default")
        text = (
            None if value is None else str(value).lower() if isinstance(value, bool) else f"{value}".removesuffix(".0")
        )
        defaults.update((name.lstrip("-"), text) for name in param.opts)
    return Flags(defaults, frozenset(WITHOUT_EFFECT))


def _crds() -> Mapping[str, Raw]:
    from volcano_py.cli.installing.rendering import manifests

    return {each["metadata"]["name"]: each for each in manifests("crds")}


def _data(verdict: Verdict) -> dict[str, Any]:
    import msgspec

    data: dict[str, Any] = msgspec.to_builtins(verdict)
    return data
