"""One field of an object, set by its path: `spec.capability.cpu`."""

from __future__ import annotations

import types
import typing
from typing import Any, Final, TypeVar, Union

import msgspec
from msgspec.structs import FieldInfo, fields, replace

from volcano_py.api.objects import ApiObject

_T = TypeVar("_T", bound=ApiObject)

UNSET: Final = "null"
"""Written as the value, it takes a field away."""


class FieldError(ValueError):
    """There is no such field, or it cannot have this value; the text says which fields there are, or what it takes."""


def with_field(obj: _T, path: str, text: str) -> _T:
    """A copy of the object in which the field has this value.

    `path` has the API's names, with dots between them; what follows the name of a map is a key, and may have dots.
    Elements of lists are numbered from 0. `text` is a number, true or false, `null`, JSON, or plain text.

    Raises:
        FieldError: see there.
    """
    return typing.cast(_T, _changed(obj, type(obj), path, text, ""))


def top_level_fields(kind: type[ApiObject]) -> list[str]:
    """The names of the fields of the kind's objects, as the API has them."""
    return [field.encode_name for field in fields(kind)]


def _changed(value: Any, kind: Any, path: str, text: str, above: str) -> Any:
    kind = _plain(kind)
    if not path:
        return _read(text, kind, above)
    origin = typing.get_origin(kind) or kind
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return _in_struct(value, origin, path, text, above)
    if origin is dict:
        return _in_map(value or {}, (*typing.get_args(kind), Any, Any)[1], path, text, above)
    if origin is list:
        return _in_list(value or [], (*typing.get_args(kind), Any)[0], path, text, above)
    if origin is Any:
        return _in_map(value if isinstance(value, dict) else {}, Any, path, text, above)
    raise FieldError(f"{above} has no fields: leave out .{path}")


def _in_struct(value: Any, kind: type[msgspec.Struct], path: str, text: str, above: str) -> Any:
    name, _, rest = path.partition(".")
    known = {field.encode_name: field for field in fields(kind)}
    if name not in known:
        where = above or "the object"
        raise FieldError(f"{where} has no field {name} that decisions follow from; it has {', '.join(known)}")
    field = known[name]
    here = f"{above}.{name}" if above else name
    if not rest and text == UNSET:
        return replace(value, **{field.name: _default(field, here)})
    current = getattr(value, field.name) if value is not None else None
    if current is None and rest:
        current = _empty(field.type)
    return replace(value, **{field.name: _changed(current, field.type, rest, text, here)})


def _in_map(value: dict[str, Any], kind: Any, path: str, text: str, above: str) -> dict[str, Any]:
    # Keys may have dots, such as nvidia.com/gpu; only maps of anything have more below.
    key, _, rest = path.partition(".") if kind is Any else (path, "", "")
    if text == UNSET and not rest:
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: _changed(value.get(key), kind, rest, text, f"{above}.{key}")}


def _in_list(value: list[Any], kind: Any, path: str, text: str, above: str) -> list[Any]:
    number, _, rest = path.partition(".")
    if not (number.isdecimal() and int(number) < len(value)):
        have = f"0 to {len(value) - 1}" if value else "none"
        raise FieldError(f"{above} is a list: write the number of an element ({have}) instead of {number}")
    index = int(number)
    changed = _changed(value[index], kind, rest, text, f"{above}.{number}")
    return [*value[:index], changed, *value[index + 1 :]]


def _read(text: str, kind: Any, where: str) -> Any:
    try:
        value: Any = msgspec.json.decode(text) if text[:1] in ("[", "{") else text
        return msgspec.convert(value, kind, strict=False)
    except msgspec.MsgspecError as error:
        raise FieldError(f"{where} cannot be {text}: {error}") from error


def _default(field: FieldInfo, where: str) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    raise FieldError(f"{where} is required: give it a value instead of {UNSET}")


def _empty(kind: Any) -> Any:
    """A value below which something can be set."""
    origin = typing.get_origin(_plain(kind)) or _plain(kind)
    return origin() if isinstance(origin, type) and origin is not object else None


def _plain(kind: Any) -> Any:
    """The type without `None` and without what is annotated; unions of plain values stay."""
    if typing.get_origin(kind) is typing.Annotated:
        return _plain(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (Union, types.UnionType):
        parts = [part for part in typing.get_args(kind) if part is not type(None)]
        return _plain(parts[0]) if len(parts) == 1 else kind
    return kind
