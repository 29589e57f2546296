"""A YAML document as a tree that knows the position of each value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from volcano_py.config.text.problems import NOWHERE, Position
from volcano_py.config.text.scalars import Value


class ScalarNode(msgspec.Struct, frozen=True):
    """`text` as written (without quotes); `value` as Volcano's YAML library resolves it."""

    position: Position
    text: str
    value: Value
    quoted: bool = False
    # Column of the text's first character when the text is on one line without escapes, else 0.
    first_column: int = 0
    size: int = 1
    height: int = 1

    def position_at(self, offset: int) -> Position:
        """The position of the character `offset` of the text, as near as is known."""
        if not self.first_column:
            return self.position
        return Position(self.position.line, self.first_column + offset)


class SequenceNode(msgspec.Struct, frozen=True):
    position: Position
    items: tuple[Node, ...]
    size: int = 1
    height: int = 1


class Entry(msgspec.Struct, frozen=True):
    key: str
    position: Position
    value: Node


class MappingNode(msgspec.Struct, frozen=True):
    """Keys are text, whatever they look like: Volcano's types have string keys only."""

    position: Position
    entries: Mapping[str, Entry]
    size: int = 1
    height: int = 1

    def get(self, key: str) -> Node | None:
        entry = self.entries.get(key)
        return entry.value if entry else None


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def value_position(entry: Entry) -> Position:
    """Where to point for a value that is wrong: at a scalar itself, at the key of anything that may span lines."""
    return entry.value.position if isinstance(entry.value, ScalarNode) else entry.position


def plain(node: Node) -> Any:
    """The tree as lists, dictionaries and scalars."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    return {key: plain(entry.value) for key, entry in node.entries.items()}


def node_of(value: object) -> Node:
    """The tree of a Python value, with no positions; what is no list, mapping or scalar becomes its text."""
    if isinstance(value, Mapping):
        entries = {str(key): Entry(str(key), NOWHERE, node_of(item)) for key, item in value.items()}
        return MappingNode(NOWHERE, entries)
    if isinstance(value, list | tuple | set | frozenset):
        return SequenceNode(NOWHERE, tuple(node_of(item) for item in value))
    if isinstance(value, bool):
        return ScalarNode(NOWHERE, "true" if value else "false", value)
    if value is None or isinstance(value, int | float):
        return ScalarNode(NOWHERE, "" if value is None else str(value), value)
    return ScalarNode(NOWHERE, str(value), str(value), quoted=True)
