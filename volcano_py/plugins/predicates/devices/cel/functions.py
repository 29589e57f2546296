"""What Kubernetes adds to CEL, as plain functions that need no CEL library.

Quantities, versions and addresses are maps with one key, which names the kind, and an exact text: maps of equal values
are equal. A function that cannot answer raises ValueError; `engine.py` makes an error of CEL of it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

import msgspec

Tagged = dict[str, str]
"""Kind → text. The key is a plain `str`, as CEL takes no other."""
QUANTITY: Final = "quantity"
SEMVER: Final = "semver"
ADDRESS: Final = "ip"
NETWORK: Final = "cidr"


class CelType(StrEnum):
    """Types of parameters and results: `MAP` is a `Tagged`, `DYN` anything."""

    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    MAP = "map"
    DYN = "dyn"


class Function(msgspec.Struct, frozen=True):
    """One overload. A member is called as `first.name(others)`."""

    name: str
    parameters: tuple[CelType, ...]
    result: CelType
    call: Callable[..., Any]
    is_member: bool = False


def text_of(value: Tagged, kind: str) -> str:
    """The text of a value of this kind.

    Raises:
        ValueError: it is of another kind.
    """
    text = value.get(kind)
    if text is None:
        raise ValueError(f"this is no {kind}: {value}")
    return text


def is_valid(read: Callable[..., Any]) -> Callable[..., bool]:
    """A function that says whether `read` accepts what it is given."""

    def accepts(*arguments: Any) -> bool:
        try:
            read(*arguments)
        except ValueError:
            return False
        return True

    return accepts
