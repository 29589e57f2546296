"""Reads YAML text as a tree (tree.py); safe for hostile text.

Built from PyYAML's events with a stack of our own, not from its node graph: nesting cannot exhaust the C stack,
limits hold while reading, and keys that occur twice are noticed instead of overwritten.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

import msgspec
import yaml

from volcano_py.config.text.problems import NOWHERE, Code, Position, Problems, Where, quoted
from volcano_py.config.text.scalars import Value, resolve, to_bool, to_float, to_integer
from volcano_py.config.text.tree import Entry, MappingNode, Node, ScalarNode, SequenceNode
from volcano_py.yaml_events import NestingError, events

# A ConfigMap cannot be larger (the API server's own limit).
MAX_BYTES: Final = 1024 * 1024
# After expansion of aliases. The largest sensible configuration has a few thousand nodes and a depth of about 10.
MAX_NODES: Final = 10_000
MAX_DEPTH: Final = 50

_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG: Final = "tag:yaml.org,2002:"


def read_document(text: str, problems: Problems) -> Node | None:
    """The first document of the text. None when it is empty or unreadable; never raises."""
    if _is_unreadable(text, problems):
        return None
    builder = _TreeBuilder(problems)
    try:
        for event in events(text):
            if builder.take(event):
                break
    except _RefusedError as refused:
        problems.error(refused.code, Where("", refused.position), str(refused))
        return None
    except NestingError as deep:
        problems.error(Code.TOO_LARGE, Where("", _position(deep.mark)), f"nested deeper than {MAX_DEPTH} levels")
        return None
    except yaml.MarkedYAMLError as broken:
        problems.error(Code.SYNTAX, Where("", _fault_position(broken)), _syntax_message(broken, text))
        return None
    except yaml.YAMLError as broken:
        problems.error(Code.SYNTAX, Where(), f"not valid YAML: {broken}")
        return None
    return builder.root


class _RefusedError(Exception):
    def __init__(self, code: Code, position: Position, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.position = position


class _Open(msgspec.Struct):
    """A sequence or mapping whose end has not been seen."""

    position: Position
    anchor: str | None
    is_mapping: bool
    items: list[Node] = msgspec.field(default_factory=list)
    entries: dict[str, Entry] = msgspec.field(default_factory=dict)
    merged: list[Node] = msgspec.field(default_factory=list)
    key: ScalarNode | None = None
    is_merge: bool = False
    size: int = 1
    height: int = 1


class _TreeBuilder:
    """Takes events one by one; `root` is the finished tree of the first document."""

    def __init__(self, problems: Problems) -> None:
        self.root: Node | None = None
        self._problems = problems
        self._open: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}  # None: still open, so an alias to it would be endless
        self._nodes = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> bool:
        """Whether reading can stop."""
        position = _position(event.start_mark)
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    message = "only the first YAML document is read; remove the others"
                    self._problems.lenient(Code.SYNTAX, Where("", position), message)
                    return True
            case yaml.ScalarEvent():
                self._place(_scalar(event, position), event.anchor, event=event)
            case yaml.AliasEvent():
                self._place(self._aliased(str(event.anchor), position), None)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._start(event, position)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._finish()
            case _:
                pass
        return False

    def _start(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent, position: Position) -> None:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        expected = _TAG + ("map" if is_mapping else "seq")
        if event.tag not in (None, "!", expected):
            raise _RefusedError(Code.SYNTAX, position, f"the tag {quoted(event.tag)} is not supported; remove it")
        if len(self._open) >= MAX_DEPTH:
            raise _RefusedError(Code.TOO_LARGE, position, f"nested deeper than {MAX_DEPTH} levels")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._count(1, position)
        self._open.append(_Open(position, event.anchor, is_mapping))

    def _finish(self) -> None:
        done = self._open.pop()
        node: Node
        if done.is_mapping:
            for source in done.merged:
                self._merge(done, source)
            node = MappingNode(done.position, done.entries, done.size, done.height)
        else:
            node = SequenceNode(done.position, tuple(done.items), done.size, done.height)
        self._place(node, done.anchor, counted=True)

    def _place(
        self, node: Node, anchor: str | None, *, event: yaml.ScalarEvent | None = None, counted: bool = False
    ) -> None:
        """Puts a finished node where it belongs: as key, value, item or root."""
        if not counted:
            self._count(node.size, node.position)
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)
        if parent.height + len(self._open) > MAX_DEPTH + 1:
            raise _RefusedError(Code.TOO_LARGE, node.position, f"nested deeper than {MAX_DEPTH} levels")
        if not parent.is_mapping:
            parent.items.append(node)
        elif parent.key is None:
            self._take_key(parent, node, event)
        else:
            self._take_value(parent, parent.key, node)

    def _take_key(self, parent: _Open, node: Node, event: yaml.ScalarEvent | None) -> None:
        if not isinstance(node, ScalarNode):
            raise _RefusedError(Code.SYNTAX, node.position, "a key must be plain text, not a list or a mapping")
        parent.key = node
        parent.is_merge = node.text == "<<" and event is not None and not node.quoted

    def _take_value(self, parent: _Open, key: ScalarNode, node: Node) -> None:
        parent.key = None
        if parent.is_merge:
            parent.merged.append(node)
            return
        earlier = parent.entries.get(key.text)
        if earlier is None:
            parent.entries[key.text] = Entry(key.text, key.position, node)
            return
        at = earlier.position
        message = f"the key {quoted(key.text)} occurs twice, first at line {at.line}, column {at.column}; remove one"
        self._problems.error(Code.DUPLICATE_KEY, self._where().key(key.text, key.position), message)

    def _where(self) -> Where:
        """The place of the innermost open sequence or mapping."""
        where = Where()
        for outer, inner in pairwise(self._open):
            if outer.key is not None:
                where = where.key(outer.key.text, inner.position)
            elif not outer.is_mapping:
                where = where.item(len(outer.items), inner.position)
        return where

    def _merge(self, target: _Open, source: Node) -> None:
        """`<<: *base`: keys that the mapping does not have itself; of several sources the first wins."""
        sources = source.items if isinstance(source, SequenceNode) else (source,)
        for mapping in sources:
            if not isinstance(mapping, MappingNode):
                message = '"<<" merges mappings only; give it the alias of a mapping, or a list of those'
                raise _RefusedError(Code.SYNTAX, mapping.position, message)
            for key, entry in mapping.entries.items():
                target.entries.setdefault(key, entry)

    def _aliased(self, name: str, position: Position) -> Node:
        if name not in self._anchors:
            raise _RefusedError(Code.SYNTAX, position, f"the alias *{name[:60]} has no anchor &{name[:60]} before it")
        node = self._anchors[name]
        if node is None:
            raise _RefusedError(Code.SYNTAX, position, f"the alias *{name[:60]} is inside the value that it refers to")
        return node

    def _count(self, nodes: int, position: Position) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            message = f"more than {MAX_NODES} values once aliases are expanded; no configuration needs that many"
            raise _RefusedError(Code.TOO_LARGE, position, message)


def _scalar(event: yaml.ScalarEvent, position: Position) -> ScalarNode:
    text = event.value
    is_plain = event.style in (None, "")
    first_column = 0
    end = _position(event.end_mark)
    if position.line == end.line:
        written = end.column - position.column
        quotes = 0 if is_plain else 1
        if written == len(text) + 2 * quotes:
            first_column = position.column + quotes
    value = resolve(text) if is_plain and event.tag is None else _tagged(event, position)
    return ScalarNode(position, text, value, not is_plain, first_column)


def _tagged(event: yaml.ScalarEvent, position: Position) -> Value:
    """The value of a scalar that is quoted or carries a tag."""
    text: str = event.value
    converted: Value
    match event.tag:
        case None | "!" | "tag:yaml.org,2002:str":
            return text
        case "tag:yaml.org,2002:null":
            return None
        case "tag:yaml.org,2002:int":
            converted = to_integer(text.replace("_", ""))
        case "tag:yaml.org,2002:float":
            converted = to_float(text.replace("_", ""))
        case "tag:yaml.org,2002:bool":
            converted = to_bool(text)
        case tag:
            raise _RefusedError(Code.SYNTAX, position, f"the tag {quoted(tag)} is not supported; remove it")
    if converted is None:
        kind = event.tag.removeprefix(_TAG)
        raise _RefusedError(Code.SYNTAX, position, f"{quoted(text)} is tagged !!{kind} but is not one")
    return converted


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1) if mark else NOWHERE


def _is_unreadable(text: str, problems: Problems) -> bool:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        problems.error(Code.TOO_LARGE, Where(), f"{size} bytes; a configuration may have {MAX_BYTES} at most")
        return True
    strange = _UNPRINTABLE.search(text)
    if strange is None:
        return False
    before = text[: strange.start()]
    at = Position(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
    character = f"U+{ord(strange[0]):04X}"
    problems.error(Code.SYNTAX, Where("", at), f"the character {character} is not allowed in YAML; remove it")
    return True


def _fault_position(broken: yaml.MarkedYAMLError) -> Position:
    return _position(broken.problem_mark or broken.context_mark)


def _syntax_message(broken: yaml.MarkedYAMLError, text: str) -> str:
    message = f"not valid YAML: {broken.problem or 'cannot be read'}"
    if broken.context:
        started = _position(broken.context_mark)
        message += f" ({broken.context}" + (f", which starts at line {started.line})" if started.line else ")")
    at = _fault_position(broken)
    lines = text.splitlines()
    if 0 < at.line <= len(lines) and "\t" in lines[at.line - 1][: at.column]:
        message += "; indent with spaces, tabs are not allowed"
    return message
