"""A pod that JobFlows probe: which requests have come, and which a probe may send."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, unquote_plus

import h11

from tests.property.parsing_server import ParsingServer

_TOKEN: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_TARGET: Final = re.compile(r"/[!$-;=?-Z_a-z~@]*")
"""Printable, and nothing that would end it or begin a fragment."""
_FRAMING: Final = frozenset({"content-length", "transfer-encoding", "trailer"})
_OF_THE_CLIENT: Final = frozenset({"host", "accept", "accept-encoding", "user-agent"})


class Get(NamedTuple):
    """A GET as it was meant: path and query without their escapes, and the names of its headers in lower case."""

    path: str
    query: str
    headers: frozenset[str]
    value: str
    """Of the header that the flow names."""


class ProbedPod(ParsingServer):
    """Keeps every request, and answers all of them alike."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[h11.Request] = []

    def reset(self) -> None:
        """Begin another example."""
        self.requests, self.broken = [], []

    async def handle(self, request: h11.Request, body: bytes) -> tuple[int, bytes]:
        """Whatever it is, it is well."""
        assert body == b""
        self.requests.append(request)
        return 200, b""

    def received(self, named: str) -> list[Get]:
        """What has come. `named`: the header to show the value of."""
        return [_read(request, named.lower()) for request in self.requests]


def _read(request: h11.Request, named: str) -> Get:
    target = request.target.decode()
    assert request.method == b"GET"
    assert _TARGET.fullmatch(target) is not None, target
    headers = [(name.decode(), value.decode()) for name, value in request.headers]
    names = frozenset(name for name, _ in headers)
    assert len(names) == len(headers), headers
    path, _, query = target.partition("?")
    return Get(unquote(path), unquote_plus(query), names, dict(headers).get(named, ""))


def meant(path: str, header: dict[str, Any] | None) -> Get:
    """The request that this probe stands for."""
    path, _, query = path.partition("?")
    name, value = (header["name"].lower(), header["value"].strip(" \t")) if header else ("", "")
    # A plus sign stays what it is, and a space is written as one.
    return Get(_without_dots(path), query.replace("+", " "), _OF_THE_CLIENT | ({name} if header else set()), value)


def may_be_sent(header: dict[str, Any] | None) -> bool:
    """Whether this is one header of a request without a body."""
    if header is None:
        return True
    name, value = header["name"], header["value"]
    return bool(_TOKEN.fullmatch(name)) and name.lower() not in _FRAMING and not _CONTROL.search(value)


def _without_dots(path: str) -> str:
    """An absolute path, as clients write it (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = path.removeprefix("/").split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)
