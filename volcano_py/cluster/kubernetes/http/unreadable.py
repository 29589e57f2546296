"""What can still be read of an event or object that does not decode as its kind."""

from __future__ import annotations

from typing import Any

import msgspec

from volcano_py.cluster.kubernetes.http.errors import ApiError, api_error


class RawEvent(msgspec.Struct):
    """An event of a watch, its object unread."""

    type: str
    object: msgspec.Raw


class Identity(msgspec.Struct, frozen=True):
    """Name, namespace, UID and version, each "" where it is missing or no text."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def identify(raw: msgspec.Raw) -> Identity:
    """The identity that the object states."""
    try:
        document = msgspec.json.decode(raw)
    except msgspec.MsgspecError:
        return Identity()
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict):
        return Identity()
    return Identity(*(_text(metadata.get(field)) for field in ("name", "namespace", "uid", "resourceVersion")))


def stream_error(path: str, status: bytes) -> ApiError:
    """The error for a Status object that came as an event."""
    try:
        code = msgspec.json.decode(status, type=dict[str, Any]).get("code")
    except msgspec.MsgspecError:
        code = None
    return api_error("WATCH", path, code if isinstance(code, int) else 500, status)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
