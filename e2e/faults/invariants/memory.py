"""What a process needs of memory, and whether that grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

_EVERY = 2.0  # seconds


def resident_bytes(pid: int) -> int:
    """Resident memory now; 0 when the process is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0)


class MemoryLog:
    """Samples of one process's memory while `run` goes on."""

    def __init__(self, pid: Callable[[], int | None]) -> None:
        self._pid = pid
        self.samples: list[tuple[float, int]] = []
        """(seconds, bytes)"""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            pid = self._pid()
            size = resident_bytes(pid) if pid is not None else 0
            if size:
                self.samples.append((time.monotonic(), size))
            await asyncio.sleep(_EVERY)

    def by_minute(self) -> list[float]:
        """The median of each minute in bytes; what is left of the last one, too."""
        start = self.samples[0][0]
        minutes: dict[int, list[int]] = {}
        for moment, size in self.samples:
            minutes.setdefault(int((moment - start) // 60), []).append(size)
        return [float(np.median(sizes)) for sizes in minutes.values()]

    def growth_per_minute(self, *, after: float) -> float:
        """Bytes a minute by the line that fits best, leaving out the first `after` seconds (warming up)."""
        kept = self._from(after)
        moments, sizes = np.array(kept, dtype=np.float64).T
        slope, _ = np.polyfit(moments - moments[0], sizes, 1)
        return float(slope * 60)

    def warm(self, *, after: float) -> tuple[int, int]:
        """Bytes after so many seconds, and at the end."""
        kept = self._from(after)
        return kept[0][1], kept[-1][1]

    def _from(self, after: float) -> list[tuple[float, int]]:
        start = self.samples[0][0] + after
        return [(moment, size) for moment, size in self.samples if moment >= start]
