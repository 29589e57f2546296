"""The cache outside the checkout: built binaries, one builder at a time, each entry whole or absent."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def cache_root(environment: Mapping[str, str]) -> Path:
    """`$XDG_CACHE_HOME/volcano-py`, or `~/.cache/volcano-py`.

    A relative XDG_CACHE_HOME is ignored, as the XDG base directory specification asks.
    """
    configured = environment.get("XDG_CACHE_HOME", "")
    if configured and Path(configured).is_absolute():
        return Path(configured) / "volcano-py"
    home = environment.get("HOME", "")
    return (Path(home) if home else Path.home()) / ".cache" / "volcano-py"


@contextmanager
def exclusive(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file `path` alone; other processes wait. `on_wait` is called once when another process holds it.

    The kernel drops a lock when its holder dies, so a killed build blocks no other.
    """
    with _opened(path) as descriptor:
        if not _locks(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Hold the lock file `path` together with any number of others."""
    with _opened(path) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


@contextmanager
def unshared(path: Path) -> Iterator[bool]:
    """Whether no process holds the lock file `path`; if so, none can until the block ends. Never waits."""
    with _opened(path) as descriptor:
        yield _locks(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _locks(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def publishing(entry: Path) -> Iterator[Path]:
    """A scratch directory that becomes `entry` when the block ends well, and vanishes when it does not.

    The rename is atomic: no reader ever sees half an entry. An entry that appeared in the meantime stays.
    """
    entry.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        if not entry.exists():
            scratch.rename(entry)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
