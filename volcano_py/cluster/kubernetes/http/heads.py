"""The part of a request before its body. Both transports accept only these values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.cluster.kubernetes.http.errors import InvalidRequestError

_ENDS_A_WORD: Final = re.compile(r"[^\x21-\x7e]")
_ENDS_A_LINE: Final = re.compile(r"[^\x20-\x7e]")


class Headers(msgspec.Struct, frozen=True):
    """The headers of a request.

    Raises:
        InvalidRequestError: one holds a control character, which would end its line. The value is not shown: it may be
            a token.
    """

    fields: Mapping[str, str]
    lines: bytes = b""
    """As they are sent."""

    def __post_init__(self) -> None:
        for name, value in self.fields.items():
            if _ENDS_A_WORD.search(name) or _ENDS_A_LINE.search(value):
                raise InvalidRequestError("a request", "header", name, "free of control characters; correct its value")
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.fields.items())
        msgspec.structs.force_setattr(self, "lines", lines.encode("ascii"))


class Head(msgspec.Struct, frozen=True):
    """Method, target (path and query below the server's address) and headers.

    Raises:
        InvalidRequestError: method or target holds a space or a control character, which would end it.
    """

    method: str
    target: str
    headers: Headers

    def __post_init__(self) -> None:
        for field, value in (("method", self.method), ("target", self.target)):
            if _ENDS_A_WORD.search(value):
                raise InvalidRequestError("a request", field, value, "free of spaces and control characters")
