"""The files of a record: segments of compressed lines, the oldest of which go when there is too much.

A process that ends badly leaves a segment without an end; what was written of it can be read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from isal import isal_zlib

from volcano_py.record.entries import AssumedBound, AssumedEmitted, Emitted, Entry, Header, of_line

FORMAT: Final = 2
SUFFIX: Final = ".record.gz"
_LEVEL: Final = 1
_GZIP: Final = zlib.MAX_WBITS | 16
_CHUNK: Final = 256 * 1024
_BATCH: Final = 32 * 1024
"""Bytes that are compressed at a time: line by line takes a quarter more CPU."""
_LONGEST_LINE: Final = 64 * 2**20
"""Bytes. The API server keeps no object of more than 2 MB, and a cycle's effects on 100,000 pods have some 40 MB."""


class RecordError(ValueError):
    """A record cannot be read; the text says why, and what to do."""


class Limits(msgspec.Struct, frozen=True):
    """How much is kept: bytes on the disk, and seconds. A segment has an eighth of each, by default."""

    size: int = 2**30
    age: float = 24 * 3600.0
    segments: int = 8

    @property
    def segment_size(self) -> float:
        """Bytes of one segment."""
        return self.size / self.segments

    @property
    def segment_age(self) -> float:
        """Seconds of one segment."""
        return self.age / self.segments


class SegmentWriter:
    """One segment, as it is written. Errors are OSErrors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        self._packing = isal_zlib.compressobj(_LEVEL, wbits=_GZIP)
        self._packed = 0
        self._lines = bytearray()
        self._file = path.open("xb")

    @property
    def size(self) -> int:
        """Bytes. What is not compressed yet counts as it is, which is some `_BATCH` at most."""
        return self._packed + len(self._lines)

    def write(self, entry: Entry) -> None:
        """A line."""
        self._encoder.encode_into(entry, self._lines, -1)
        self._lines += b"\n"
        if len(self._lines) >= _BATCH:
            self._pack()

    def flush(self) -> None:
        """What was written can be read from now on."""
        self._pack()
        self._write(self._packing.flush(isal_zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        try:
            self._pack()
            self._write(self._packing.flush())
        finally:
            self._file.close()

    def _pack(self) -> None:
        packed = self._packing.compress(self._lines)
        self._lines.clear()
        self._write(packed)

    def _write(self, packed: bytes) -> None:
        if packed:
            self._file.write(packed)
            self._packed += len(packed)


def path_of(directory: Path, header: Header) -> Path:
    """Names sort by time."""
    began = datetime.fromtimestamp(header.began, UTC)
    return directory / f"{began:%Y%m%dT%H%M%S.%f}-{header.sequence:06}-{header.run}{SUFFIX}"


def tidy(directory: Path, limits: Limits, now: float) -> None:
    """Delete the oldest segments beyond the limits; the newest stays."""
    found = [(path, path.stat()) for path in sorted(directory.glob(f"*{SUFFIX}"))]
    total = sum(stat.st_size for _, stat in found)
    for path, stat in found[:-1]:
        if total <= limits.size * (limits.segments - 1) // limits.segments and now - stat.st_mtime <= limits.age:
            return
        path.unlink(missing_ok=True)
        total -= stat.st_size


def segments(directory: Path) -> list[Path]:
    """The segments of a record, the oldest first.

    Raises:
        RecordError: there is none.
    """
    found = sorted(directory.glob(f"*{SUFFIX}")) if directory.is_dir() else []
    if not found:
        raise RecordError(
            f"{directory}: no record here (files *{SUFFIX}); `volcano-py run --record {directory}` makes one"
        )
    return found


def read(path: Path) -> Iterator[Entry]:
    """The entries of a segment, the header first.

    Raises:
        RecordError: it cannot be read, or is of another format.
    """
    emitted: Emitted | None = None
    for number, line in enumerate(_lines(path), start=1):
        try:
            entry = of_line(line)
            if isinstance(entry, Emitted):
                emitted = entry
            elif isinstance(entry, AssumedEmitted):
                entry = AssumedBound(() if emitted is None else emitted.binds())
        except msgspec.MsgspecError as error:
            raise RecordError(f"{path}:{number}: {error}; use the version of volcano-py that wrote it") from error
        if number == 1 and not (isinstance(entry, Header) and entry.format == FORMAT):
            raise RecordError(f"{path}: not a segment of a record of format {FORMAT}")
        yield entry


def in_order(paths: Iterable[Path], *, with_states: bool = False) -> Iterator[Entry]:
    """The entries of segments, of the headers only the first of each run. `with_states`: also the states with which
    those segments begin that go on from the one before.

    Raises:
        RecordError: a segment cannot be read.
    """
    before: Header | None = None
    for path in paths:
        skipped = 0
        for entry in read(path):
            if isinstance(entry, Header):
                goes_on = before is not None and (before.run, before.sequence + 1) == (entry.run, entry.sequence)
                before, skipped = entry, entry.state if goes_on and not with_states else 0
                if not goes_on:
                    yield entry
            elif skipped:
                skipped -= 1
            else:
                yield entry


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines; what a process that ended badly has begun last is left out."""
    unpacking, rest = zlib.decompressobj(wbits=_GZIP), b""
    try:
        with path.open("rb") as stream:
            while packed := stream.read(_CHUNK):
                while packed:
                    *lines, rest = (rest + unpacking.decompress(packed, _CHUNK)).split(b"\n")
                    packed = unpacking.unconsumed_tail
                    yield from lines
                    if len(rest) > _LONGEST_LINE:
                        raise RecordError(f"{path}: a line of more than {_LONGEST_LINE} bytes")
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    except zlib.error as error:
        raise RecordError(f"{path}: not a segment of a record: {error}") from error
