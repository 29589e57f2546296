"""Reading a scheduler configuration for verbs that run once."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import click

from volcano_py.api.names import CONFIG_KEY
from volcano_py.config import (
    SchedulerConfiguration,
    Severity,
    default_configuration_text,
    format_problems,
    parse_configuration,
)
from volcano_py.config.config_key import config_key
from volcano_py.config.text.document import MAX_BYTES, read_document
from volcano_py.config.text.problems import Problems
from volcano_py.config.text.tree import MappingNode, ScalarNode, SequenceNode
from volcano_py.framework.registry import Registry


def configuration_text(path: Path | None) -> tuple[str, str]:
    """The text and its name for messages: of a bare configuration, of a ConfigMap with one in it, or the default.

    Raises:
        click.ClickException: the file cannot be read, or is a manifest without a configuration.
    """
    if path is None:
        return default_configuration_text(), "built-in default"
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(MAX_BYTES + 1)  # one more, so that what is too large is seen to be
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path}: not a text file in UTF-8") from error
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error
    document = read_document(text, Problems(strict=False))
    if not isinstance(document, MappingNode) or "kind" not in document.entries:
        return text, str(path)
    key, inner = _of_config_map(document, path)
    in_place = _in_place(inner.text, inner.position.line, text)
    return (in_place, str(path)) if in_place else (inner.text, f"{path}, text of data.{key}")


def _of_config_map(manifest: MappingNode, path: Path) -> tuple[str, ScalarNode]:
    """The configuration in a ConfigMap, or in one of a List, with its key."""
    items = manifest.get("items")
    parts = items.items if isinstance(items, SequenceNode) else (manifest,)
    found = []
    for part in parts:
        kind, data = (part.get("kind"), part.get("data")) if isinstance(part, MappingNode) else (None, None)
        found_kind = kind.text if isinstance(kind, ScalarNode) else "something without a kind"
        if found_kind == "ConfigMap":
            keys = data.entries if isinstance(data, MappingNode) else {}
            key = config_key(keys)
            if key is not None and isinstance(inner := keys[key].value, ScalarNode):
                return key, inner
            found_kind += f" with {', '.join(keys) or 'nothing'} in its data"
        found.append(found_kind)
    raise click.ClickException(
        f"{path}: the first document is {', '.join(found) or 'an empty List'}; expected a configuration, or a ConfigMap"
        f" with data.{CONFIG_KEY}: put that into a file of its own"
    )


def _in_place(inner: str, header: int, text: str) -> str:
    """A block of the text (`|` is on the line `header`) alone in its place, so that lines and columns of a
    configuration are the file's; "" if it is not written line by line, or would mean something else indented."""
    lines = inner.rstrip("\n").split("\n")
    written = text.split("\n")[header : header + len(lines)]
    pairs = [pair for pair in zip(lines, written, strict=False) if pair[0].strip()]
    indent = len(pairs[0][1]) - len(pairs[0][0]) if pairs else 0
    is_literal = len(written) == len(lines) and all(" " * indent + line == there for line, there in pairs)
    if not is_literal or any(line.startswith(("---", "...", "%")) for line in lines):
        return ""
    return "\n" * header + "\n".join(written)


def load_configuration(path: Path | None, registry: Registry, *, strict: bool = False) -> SchedulerConfiguration:
    """The configuration; ends the verb with every problem, line and column, when it is invalid."""
    return _parsed(*configuration_text(path), registry, strict=strict)


def valid_text(path: Path, registry: Registry) -> str:
    """The text of the configuration, not indented; ends the verb like `load_configuration` when it is invalid."""
    text, source = configuration_text(path)
    _parsed(text, source, registry)
    return dedent(text).strip("\n") + "\n"


def _parsed(text: str, source: str, registry: Registry, *, strict: bool = False) -> SchedulerConfiguration:
    result = parse_configuration(text, registry.catalogue(), source=source, strict=strict)
    if result.config is None:
        raise click.ClickException(
            "the scheduler configuration is invalid:\n" + format_problems(result.problems, text, source=source)
        )
    for problem in result.problems:
        if problem.severity is Severity.WARNING:
            click.echo(format_problems([problem], text, source=source), err=True)
    return result.config
