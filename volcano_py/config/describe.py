"""Rows of the reference pages, taken from the models themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from enum import Enum
from itertools import chain
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from volcano_py.api.go_values import format_duration
from volcano_py.config.fields.keys import keys_of
from volcano_py.config.values import AtLeast, TypeName

_SCALARS: Final[Mapping[Any, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    timedelta: "duration",
    Any: "any",
}
# Attributes of pydantic's constraints.
_LIMITS: Final = (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below"))
_LISTS: Final = (list, tuple, set, frozenset)
# A model that contains itself is described to this depth.
_MAX_DEPTH: Final = 4


class Row(msgspec.Struct, frozen=True):
    """One key of a model. `default` is as one would write it in the file; `also` are other spellings of the key."""

    key: str
    type: str
    default: str
    description: str
    also: tuple[str, ...] = ()


def describe(model: type[BaseModel]) -> tuple[Row, ...]:
    """All keys of a model in the order of its fields, those of nested models below their own key."""
    return tuple(_rows(model, "", 0))


def _rows(model: type[BaseModel], prefix: str, depth: int) -> Iterator[Row]:
    for name, info in model.model_fields.items():
        keys = keys_of(name, info)
        annotation, metadata = info.annotation, tuple(info.metadata)
        if "<" in keys[0]:  # a family of keys: the row describes one member
            annotation, metadata = _unwrapped((get_args(annotation) or (Any, Any))[-1])
        description = " ".join((info.description or "").split())
        yield Row(
            prefix + keys[0], _type(annotation, metadata), _default(info), description, _prefixed(prefix, keys[1:])
        )
        nested = _nested(annotation)
        if nested is not None and depth < _MAX_DEPTH:
            below, step = nested
            yield from _rows(below, f"{prefix}{keys[0]}{step}.", depth + 1)


def _prefixed(prefix: str, keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(prefix + key for key in keys)


def _nested(annotation: Any) -> tuple[type[BaseModel], str] | None:
    """The model inside an annotation, and how its keys hang below: directly, in a mapping or in a list."""
    annotation, _ = _unwrapped(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    arguments = [argument for argument in get_args(annotation) if argument not in (Ellipsis, type(None))]
    if not arguments or get_origin(annotation) is Literal:
        return None
    inner = _nested(arguments[-1])
    if inner is None:
        return None
    origin = get_origin(annotation)
    step = "[]" if origin in _LISTS else "" if origin in (Union, UnionType) else ".<name>"
    return inner[0], step + inner[1]


def _type(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    annotation, inner = _unwrapped(annotation)
    notes = (*metadata, *inner)
    for note in notes:
        if isinstance(note, TypeName):
            return note.text
    bounds = [text for note in notes if (text := _bound(note))]
    return " ".join((_base_type(annotation), *bounds))


def _base_type(annotation: Any) -> str:
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(str(value) for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(_type(argument) for argument in arguments if argument is not type(None))
    if origin in _LISTS:
        return f"list of {_type(arguments[0])}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(str(member.value) for member in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return f"mapping to {_type(arguments[-1])}" if len(arguments) == 2 else "mapping"


def _bound(note: Any) -> str:
    if isinstance(note, AtLeast):
        return f"{note} (else {note.otherwise:g})"
    limits = ((words, getattr(note, name, None)) for name, words in _LIMITS)
    return " ".join(f"{words} {limit}" for words, limit in limits if limit is not None)


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    return _written(info.get_default(call_default_factory=True, validated_data={}))


def _written(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case timedelta():
            return format_duration(value)
        case Enum():
            return str(value.value)
        case BaseModel() | Mapping():
            return ""
        case list() | tuple() | set() | frozenset():
            return ", ".join(_written(item) for item in value)
        case _:
            return str(value)


def _unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(annotation) is Annotated:
        inner, *notes = get_args(annotation)
        # of a field itself pydantic has resolved them; what is within a mapping or a list is as it was written
        lists = (note.metadata if isinstance(note, FieldInfo) else (note,) for note in notes)
        return inner, tuple(chain.from_iterable(lists))
    return annotation, ()
