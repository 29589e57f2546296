"""The directory of a control plane's files, and the removal of files that a killed one left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

from volcano_py.local.errors import LocalError

_PREFIX = "volcano-py-"
_OWNER = "owner.lock"

_YOUNG_SECONDS = 60.0
"""A directory this new may belong to a process that has not locked it yet."""


class WorkDir:
    """A directory that is ours alone while this object holds its lock, and that `close` removes.

    `path` must be empty or not exist; None makes a new directory for temporary files, after clearing away those whose
    owners are dead (killed too suddenly to do it themselves). Raises LocalError.
    """

    def __init__(self, path: Path | None, *, keep: bool) -> None:
        if path is None:
            remove_abandoned(Path(tempfile.gettempdir()))
            path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        elif path.exists() and any(path.iterdir()):
            raise LocalError(f"work directory {path} is not empty: name an empty one, or one that does not exist yet.")
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path.resolve()
        self._keep = keep
        # The kernel drops the lock when we die; the descriptor is not inherited by the processes we start.
        self._lock = os.open(self.path / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the directory, or leave it if it should be kept."""
        if self._keep:
            (self.path / _OWNER).unlink(missing_ok=True)
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_abandoned(parent: Path, now: float | None = None) -> list[Path]:
    """Remove the work directories below `parent` whose owner is dead; returns them."""
    now = time.time() if now is None else now
    removed = []
    for lock in parent.glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            found = lock.lstat()
            if found.st_uid != os.getuid() or now - found.st_mtime < _YOUNG_SECONDS:
                continue
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            # Gone in the meantime.
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
            removed.append(lock.parent)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
    return removed
