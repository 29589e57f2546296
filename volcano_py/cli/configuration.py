"""Reading a scheduler configuration for verbs that run once."""

from __future__ import annotations

from pathlib import Path

import click

from volcano_py.config import (
    SchedulerConfiguration,
    Severity,
    default_configuration_text,
    format_problems,
    parse_configuration,
)
from volcano_py.framework.registry import Registry


def configuration_text(path: Path | None) -> tuple[str, str]:
    """The text and its name for messages: of a bare configuration, of a ConfigMap with one in it, or the default."""
    if path is None:
        return default_configuration_text(), "built-in default"
    text = path.read_text(encoding="utf-8")
    return unwrapped(text), str(path)


def unwrapped(text: str) -> str:
    """The configuration inside a ConfigMap manifest, or the text itself."""
    import yaml

    from volcano_py.api.names import CONFIG_KEY

    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    data = body.get("data") if isinstance(body, dict) and body.get("kind") == "ConfigMap" else None
    inner = data.get(CONFIG_KEY) if isinstance(data, dict) else None
    return inner if isinstance(inner, str) else text


def load_configuration(path: Path | None, registry: Registry, *, strict: bool = False) -> SchedulerConfiguration:
    """The configuration; ends the verb with every problem, line and column, when it is invalid."""
    text, source = configuration_text(path)
    result = parse_configuration(text, registry.catalogue(), source=source, strict=strict)
    if result.config is None:
        raise click.ClickException(
            "the scheduler configuration is invalid:\n" + format_problems(result.problems, text, source=source)
        )
    for problem in result.problems:
        if problem.severity is Severity.WARNING:
            click.echo(format_problems([problem], text, source=source), err=True)
    return result.config
