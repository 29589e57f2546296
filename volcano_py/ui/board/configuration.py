"""The scheduler's configuration as a row."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from volcano_py.config import SchedulerConfiguration
from volcano_py.config.fields.keys import keys_of
from volcano_py.config.parse import ParseResult
from volcano_py.ui.board.model import ConfigurationRow, FindingRow, PluginRow, QueueRow


def configuration_row(
    text: str, parsed: ParseResult, used: SchedulerConfiguration, queues: Mapping[str, QueueRow]
) -> ConfigurationRow:
    """`parsed` is what the text says, `used` what the board is made with: another one, when the text is invalid."""
    return ConfigurationRow(
        source=parsed.source,
        text=text,
        in_use=parsed.config is not None,
        actions=used.actions,
        tiers=tuple(
            tuple(PluginRow(entry.name, {**said(entry.flags), **said(entry.arguments)}) for entry in tier.plugins)
            for tier in used.tiers
        ),
        findings=tuple(
            FindingRow(problem.severity.value, str(problem.path), problem.line, problem.message)
            for problem in parsed.problems
        ),
        ignored=tuple(f"queue {queue.name}: {sentence}" for queue in queues.values() for sentence in queue.ignored),
    )


def said(model: BaseModel) -> dict[str, str]:
    """Key → value as text, of what differs from the defaults."""
    return {
        keys_of(name, info)[0]: _text(value)
        for name, info in type(model).model_fields.items()
        if (value := getattr(model, name)) != info.get_default(call_default_factory=True, validated_data={})
    }


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case BaseModel():
            return ", ".join(f"{key}: {text}" for key, text in said(value).items())
        case Mapping():
            return ", ".join(f"{key}: {_text(each)}" for key, each in value.items())
        case list() | tuple() | set() | frozenset():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
