"""`volcano-py config`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano_py.cli.options.captured import Source, source_options
from volcano_py.cli.options.cluster_access import cluster_options
from volcano_py.cli.options.cluster_configuration import config_namespace_option
from volcano_py.cli.options.configuration import configuration_text
from volcano_py.cli.options.trials import trial_options
from volcano_py.cli.printing.output import output_option, print_data
from volcano_py.config import Severity, format_problems, parse_configuration
from volcano_py.scheduler import builtin_registry

if TYPE_CHECKING:
    from volcano_py.cli.queues.live_check import ClusterSays
    from volcano_py.config.parse import ParseResult
    from volcano_py.framework.status.ignored_fields import IgnoredField

_EXAMPLES = """\b
Examples:
  volcano-py config check volcano-scheduler.conf
  volcano-py config check -o json cm.yaml
  volcano-py config check --live                    # the cluster's ConfigMap, against its queues
  volcano-py config check --live capacity.conf      # fields of the queues that this file ignores
"""

_PLAN = """\b
Examples:
  volcano-py config plan new.conf                                  # on the live cluster
  volcano-py config plan --from cluster.capture new.conf
  volcano-py config plan --from cluster.capture new.conf --fail-on evictions --fail-on stops   # in CI
"""


@click.group()
def config() -> None:
    """Check a volcano-scheduler.conf, or try it out."""


@config.command(epilog=_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--strict", is_flag=True, help="Treat unknown keys, and values that had to be converted, as errors.")
@click.option(
    "--live",
    is_flag=True,
    help="Also list the fields of the cluster's queues that the configuration ignores. Without FILE, check the"
    " scheduler's ConfigMap.",
)
@config_namespace_option
@cluster_options
@output_option()
def check(
    file: Path | None,
    strict: bool,
    live: bool,
    config_namespace: str,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
) -> None:
    """Report what is wrong in FILE (a bare configuration or a ConfigMap), with place and fix. Exits 1 on errors."""
    says: ClusterSays | None = None
    if live:
        from volcano_py.cli.queues.live_check import ask_cluster

        says = ask_cluster(kubeconfig, context, config_namespace, with_configuration=file is None)
    else:
        _check_usage_without_cluster(file, kubeconfig, context)
    text, source = configuration_text(file) if file is not None or says is None else (says.text, says.source)
    registry = builtin_registry().with_installed()
    result = parse_configuration(text, registry.catalogue(), source=source, strict=strict)
    ignored = says.ignored_by(result.config, registry) if says is not None and result.config is not None else []
    if output == "table":
        _print_findings(result, text, source, ignored, live=live)
    else:
        queues = [{"name": queue, "field": str(field.field), "message": field.message} for queue, field in ignored]
        print_data({**_data(result), "queues": queues} if live else _data(result), output)
    if result.config is None or any(problem.severity is Severity.ERROR for problem in result.problems):
        raise SystemExit(1)


def _check_usage_without_cluster(file: Path | None, kubeconfig: Path | None, context: str | None) -> None:
    if file is None:
        raise click.UsageError("name a FILE to check, or check the cluster's configuration with --live")
    if kubeconfig or context:
        raise click.UsageError("--kubeconfig and --context name a cluster: they go with --live")


def _print_findings(
    result: ParseResult, text: str, source: str, ignored: Sequence[tuple[str, IgnoredField]], *, live: bool
) -> None:
    if result.problems:
        click.echo(format_problems(result.problems, text, source=source))
    click.echo(f"{source}: {'valid' if result.config is not None else 'invalid'}")
    for queue, field in ignored:
        click.echo(f"queue {queue}: {field.message}")
    if live and result.config is not None and not ignored:
        click.echo("queues: no field is ignored")


@config.command(epilog=_PLAN)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@trial_options
@source_options
def plan(file: Path, source: Source, fail_on: tuple[str, ...], cycles: int, output: str) -> None:
    """Show what FILE (a bare configuration or a ConfigMap) would change in a cluster: the live one, or a capture.

    The scheduler runs in memory until nothing changes, once with the cluster's configuration and once with FILE.
    Exits 3 when something changes, or when something happens that --fail-on names.
    """
    from volcano_py.cli.trials.running import run_trial

    run_trial(source, scheduler_conf=file, fail_on=fail_on, cycles=cycles, output=output)


def _data(result: ParseResult) -> dict[str, Any]:
    problems = [
        {
            "severity": problem.severity.value,
            "path": str(problem.path),
            "line": problem.line,
            "column": problem.column,
            "message": problem.message,
            "code": str(problem.code),
        }
        for problem in result.problems
    ]
    return {"valid": result.config is not None, "problems": problems}
