"""Values of another type than the field's: which can still be read, and how the others are refused."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from volcano_py.api.go_values import parse_bool
from volcano_py.config.arguments import INSTEAD
from volcano_py.config.text.problems import Code, quoted
from volcano_py.config.text.scalars import to_bool, to_float, to_integer
from volcano_py.config.text.tree import MappingNode, Node, ScalarNode

# In place of a value: leave the key out.
DROP: Final = object()

# Written as an integer, and refused as one all the same: it is too large.
_WHOLE: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)

# Beyond this a float no longer distinguishes neighbouring integers.
_MAX_EXACT_FLOAT: Final = 2**53

_WANTED: Final = {
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
}


class Correction(msgspec.Struct, frozen=True):
    """Another value for one that was refused, and the message for the author."""

    value: Any
    code: Code
    message: str


def correct(fault: Any, node: Node) -> Correction | None:
    """How a refused value can be understood after all; `fault` is one of pydantic's error details."""
    kind: str = fault["type"]
    if kind == INSTEAD:
        return _replaced(fault, node)
    if kind == "extra_forbidden":
        return Correction(DROP, Code.UNKNOWN_KEY, "unknown key, ignored; remove it")
    if not isinstance(node, ScalarNode):
        return None
    if node.value is None and fault["input"] is None:
        return Correction(
            DROP, Code.EMPTY_VALUE, "has no value, so its default is used; give it one or remove the line"
        )
    value = _coerced(kind, fault["input"], node) if kind in _WANTED else None
    if value is None:
        return None
    read_as = f'the text "{node.text}"' if isinstance(value, str) else _spelled(value)
    message = f"must be {_WANTED[kind]}, found {found(node)}; read as {read_as}; write it that way"
    return Correction(value, Code.COERCED, message)


def describe(node: Node | None, fault: Any = None) -> str:
    """`must be …, found …` for a fault, or just what was found."""
    if fault is None:
        return found(node)
    kind: str = fault["type"]
    if kind == "missing":
        return f"lacks the required key {quoted(str(fault['loc'][-1]))}; add it"
    context = fault.get("ctx", {})
    if kind == "value_error":
        message = str(context.get("error", fault["msg"]))
    elif kind.startswith("int_") and isinstance(node, ScalarNode) and _WHOLE.fullmatch(node.text.strip()):
        message = "must be an integer of at most 64 bits"
    elif kind in _WANTED:
        message = f"must be {_WANTED[kind]}"
    else:
        message = str(fault["msg"]).replace("Input should", "must").replace("must be '", "must be one of '", 1)
    what = found(node)
    return message if not what or what in message else f"{message}, found {what}"


def found(node: Node | None) -> str:
    """The value in the file, for a message."""
    if node is None:
        return ""
    if isinstance(node, ScalarNode):
        if node.value is None:
            return "nothing"
        return quoted(node.text) if isinstance(node.value, str) else quoted(node.text)[1:-1]
    return "a mapping" if isinstance(node, MappingNode) else "a list"


def _replaced(fault: Any, node: Node) -> Correction:
    context = fault["ctx"]
    replacement = context["replacement"]
    message = f"{context['why']}, found {found(node)}; {_spelled(replacement)} is used instead"
    return Correction(replacement, Code.OUT_OF_RANGE, message)


def _coerced(kind: str, value: Any, node: ScalarNode) -> Any:
    if kind.startswith("int"):
        return _to_int(value)
    if kind.startswith("float"):
        return to_float(value.strip()) if isinstance(value, str) else None
    if kind.startswith("bool"):
        return _to_bool(value)
    if kind == "string_type" and isinstance(value, bool | int | float):
        return node.text
    return None


def _to_int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return to_integer(value.strip())
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT_FLOAT:
        return int(value)
    return None


def _to_bool(value: Any) -> bool | None:
    if isinstance(value, str):
        try:
            return parse_bool(value.strip())
        except ValueError:
            return to_bool(value.strip())
    return bool(value) if type(value) is int and value in (0, 1) else None


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
