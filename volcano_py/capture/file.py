"""A capture as a file: JSON, compressed with gzip."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec

from volcano_py.api.objects import ApiObject
from volcano_py.api.shards.sharding import Sharding
from volcano_py.capture.kinds import OF_NAME
from volcano_py.capture.model import Capture, CapturedEvent, CaptureError, Unread

FORMAT: Final = 1
"""Changes when older programs would misread a file. What they may ignore, such as events, is added without a change."""

LARGEST: Final = 4 * 2**30
"""Bytes of the JSON. 100,000 pods have about 100 MB."""

_GZIP: Final = b"\x1f\x8b"
_LEVEL: Final = 6


class _File(msgspec.Struct, frozen=True, rename="camel"):
    volcano_py_capture: int
    taken: float
    configuration: str
    source: str
    scheduler_names: list[str]
    default_queue: str
    objects: dict[str, list[msgspec.Raw]]
    sharding: Sharding | None = None
    events: list[CapturedEvent] | None = None
    unread: list[Unread] = []
    revision: str = ""
    leader: str = ""
    versions: dict[str, str] = {}


def written(capture: Capture) -> bytes:
    """The bytes of the file. The same capture gives the same bytes."""
    objects: dict[str, list[ApiObject]] = {}
    for kind, obj in capture.items:
        objects.setdefault(kind, []).append(obj)
    content: dict[str, Any] = {
        "volcanoPyCapture": FORMAT,
        "taken": capture.taken,
        "revision": capture.revision,
        "leader": capture.leader,
        "versions": dict(capture.versions),
        "schedulerNames": sorted(capture.scheduler_names),
        "defaultQueue": capture.default_queue,
        "sharding": capture.sharding,
        "source": capture.source,
        "configuration": capture.configuration,
        "unread": list(capture.unread),
        "objects": objects,
    }
    if capture.events is not None:
        content["events"] = capture.events
    return gzip.compress(msgspec.json.encode(content), _LEVEL, mtime=0)


def is_capture(path: Path) -> bool:
    """Whether the file is compressed, as captures are and manifests are not; false for what cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_GZIP)) == _GZIP
    except OSError:
        return False


def read(path: Path) -> Capture:
    """The capture in a file.

    Raises:
        CaptureError: it cannot be read, or is no capture of ours.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}") from error
    return of_bytes(content, str(path))


def of_bytes(content: bytes, name: str) -> Capture:
    """The capture that `written` has made these bytes of; `name` is for messages.

    Raises:
        CaptureError: it is no capture of ours.
    """
    try:
        found = msgspec.json.decode(_unpacked(content, name), type=_File)
    except msgspec.MsgspecError as error:
        raise CaptureError(f"{name}: not a capture: {error}; `volcano-py capture FILE` makes one") from error
    if found.volcano_py_capture != FORMAT:
        raise CaptureError(
            f"{name}: a capture of format {found.volcano_py_capture}, expected {FORMAT}: "
            "use the version of volcano-py that took it"
        )
    return Capture(
        taken=found.taken,
        items=tuple(
            (kind, _object(kind, raw, f"{name}: objects.{kind}[{number}]"))
            for kind, objects in found.objects.items()
            for number, raw in enumerate(objects)
        ),
        configuration=found.configuration,
        source=found.source,
        scheduler_names=frozenset(found.scheduler_names),
        default_queue=found.default_queue,
        sharding=found.sharding,
        events=None if found.events is None else tuple(found.events),
        unread=tuple(found.unread),
        revision=found.revision,
        leader=found.leader,
        versions=found.versions,
    )


def _unpacked(content: bytes, name: str) -> bytes:
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # gzip
    try:
        text = unpacking.decompress(content, LARGEST)
    except zlib.error as error:
        raise CaptureError(f"{name}: not a capture: it is not compressed with gzip") from error
    if unpacking.unconsumed_tail:
        raise CaptureError(f"{name}: more than {LARGEST} bytes when unpacked")
    if not unpacking.eof:
        raise CaptureError(f"{name}: the file ends early; copy it again")
    return text


def _object(kind: str, raw: msgspec.Raw, where: str) -> ApiObject:
    if kind not in OF_NAME:
        raise CaptureError(f"{where}: this version of volcano-py knows no kind {kind}")
    try:
        return msgspec.json.decode(raw, type=OF_NAME[kind].type)
    except msgspec.MsgspecError as error:
        raise CaptureError(f"{where}: {error}") from error
