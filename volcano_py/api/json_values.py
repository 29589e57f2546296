"""Fields that are null. To an API server they are the same as fields that are left out, and some send them.

Old servers do (`names` of images that have none), and so do CRDs that are looser than ours, with what people wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


def without_nulls(value: Any) -> Any:
    """A copy of a JSON value without the fields that are null; elements of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def read_without_nulls(decode: Callable[[bytes | msgspec.Raw], T], document: bytes | msgspec.Raw) -> T:
    """What `decode` makes of the document; where it refuses, and there are nulls, of the document without them.

    Raises:
        msgspec.MsgspecError: it is no such object.
    """
    try:
        return decode(document)
    except msgspec.ValidationError:
        # (the few objects that have any are worth a second look, the others none)
        if b"null" not in bytes(document):
            raise
        return decode(msgspec.json.encode(without_nulls(msgspec.json.decode(document))))


def converted(value: Any, kind: type[T]) -> T:
    """The object of this kind that a JSON value is; as `read_without_nulls`.

    Raises:
        msgspec.ValidationError: it is no such object.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return msgspec.convert(without_nulls(value), kind)


def is_deeper_than(levels: int, value: Any) -> bool:
    """Whether a JSON value has more levels of lists and mappings. Level by level: nesting cannot exhaust the stack."""
    level = [value]
    for _ in range(levels + 1):
        # (exact types: JSON has no others, and anything else would be several times as slow)
        level = [each for each in level if type(each) is dict or type(each) is list]
        if not level:
            return False
        level = [child for each in level for child in (each.values() if type(each) is dict else each)]
    return True


class Reader(Generic[T]):
    """Reads documents that are one object of a kind."""

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def decode(self, document: bytes | msgspec.Raw) -> T:
        """The object.

        Raises:
            msgspec.MsgspecError: it is no such object.
        """
        return read_without_nulls(self._decode, document)
