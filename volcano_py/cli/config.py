"""`volcano-py config`."""

from __future__ import annotations

from pathlib import Path

import click

from volcano_py.cli.options.configuration import configuration_text
from volcano_py.cli.printing.output import output_option, print_data
from volcano_py.config import Severity, format_problems, parse_configuration
from volcano_py.scheduler import builtin_registry


@click.group()
def config() -> None:
    """Say what is wrong in a volcano-scheduler.conf."""


@config.command(
    epilog="\b\nExamples:\n  volcano-py config check volcano-scheduler.conf\n  volcano-py config check -o json cm.yaml"
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--strict", is_flag=True, help="Take unknown keys, and values that had to be converted, as errors.")
@output_option()
def check(file: Path, strict: bool, output: str) -> None:
    """Say what is wrong in FILE (a bare configuration or a ConfigMap), where, and how to fix it. Exits 1 on errors."""
    text, source = configuration_text(file)
    result = parse_configuration(text, builtin_registry().with_installed().catalogue(), source=source, strict=strict)
    if output == "table":
        if result.problems:
            click.echo(format_problems(result.problems, text, source=source))
        click.echo(f"{source}: {'valid' if result.config is not None else 'invalid'}")
    else:
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
        print_data({"valid": result.config is not None, "problems": problems}, output)
    if result.config is None or any(problem.severity is Severity.ERROR for problem in result.problems):
        raise SystemExit(1)
