"""JSON encoding that never fails: for log lines, `/status` and `/dump`, where an error would hide the fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

import msgspec
import orjson

_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z
# Elements encoded at a stretch when a document is streamed: some tens of kilobytes, well below a millisecond.
_BATCH: Final = 200
_DEEPEST: Final = 32  # nesting kept by the slow path
_WRITABLE: Final = range(-(2**63), 2**64)  # the integers that orjson writes


def to_json(value: object) -> bytes:
    """One line of JSON. Structs, dataclasses, enums, numpy and API objects are understood; the rest becomes its repr.

    Never raises for odd content: what orjson refuses (integers beyond 64 bits, lone surrogates, keys that are tuples,
    circular references) is made plain first, which is slower.
    """
    try:
        return orjson.dumps(value, default=_known, option=_OPTIONS)
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(_plain(value), default=_text, option=_OPTIONS)


def json_chunks(document: object) -> Iterator[bytes]:
    """`document` as JSON in pieces, so that a large one neither blocks the event loop nor is in memory twice.

    The top level and the lists and mappings directly below it are cut; anything deeper is encoded in one go.
    """
    if not isinstance(document, Mapping):
        yield to_json(document)
        return
    separator = b"{"
    for key, value in document.items():
        yield separator + to_json(str(key)) + b":"
        yield from _section(value)
        separator = b","
    yield b"{}" if separator == b"{" else b"}"


def _section(value: object) -> Iterator[bytes]:
    if isinstance(value, Mapping):
        yield from _joined((to_json(str(key)) + b":" + to_json(item) for key, item in value.items()), b"{", b"}")
    elif isinstance(value, list | tuple):
        yield from _joined((to_json(item) for item in value), b"[", b"]")
    else:
        yield to_json(value)


def _joined(pieces: Iterator[bytes], start: bytes, end: bytes) -> Iterator[bytes]:
    batch = [start]
    separator = b""
    for piece in pieces:
        batch.append(separator + piece)
        separator = b","
        if len(batch) >= _BATCH:
            yield b"".join(batch)
            batch = []
    yield b"".join(batch) + end


def _known(value: object) -> Any:
    """What orjson does not know by itself."""
    if isinstance(value, msgspec.Struct):
        return _fields(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value, key=repr)
    return _text(value)


def _fields(value: msgspec.Struct) -> Any:
    """API objects as the API writes them; of any other struct the public fields, which may hold anything."""
    if value.__struct_config__.omit_defaults or value.__struct_config__.array_like:
        return msgspec.to_builtins(value, enc_hook=_text)
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    return {written: getattr(value, name) for written, name in names if not name.startswith("_")}


def _plain(value: object, path: tuple[int, ...] = ()) -> Any:
    """`value` in the types that orjson is sure to write; `path` holds the ids of what contains it."""
    if isinstance(value, str):
        return str(value).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value) if value in _WRITABLE else str(int(value))
    if value is None or isinstance(value, bool | float):
        return value
    if id(value) in path or len(path) >= _DEEPEST:
        return "..."
    path = (*path, id(value))
    if isinstance(value, msgspec.Struct):
        value = _fields(value)
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, path) for key, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [_plain(item, path) for item in value]
    return _plain(_text(value))


def _key(key: object) -> str:
    return str(_plain(key if isinstance(key, str) else _text(key)))


def _text(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # a repr is foreign code
        return f"<{type(value).__name__} whose repr failed: {type(error).__name__}>"
