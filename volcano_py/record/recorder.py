"""Writes a record in a thread of its own. Whoever hands news over never waits for the disk.

When the disk is full or too slow, or anything else fails, recording ends for good, and says so; what was written stays.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from operator import is_
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog
import yaml

from volcano_py.api.effects import Bind, Effect
from volcano_py.api.report import CycleReport, PendingJob
from volcano_py.api.shards.sharding import Sharding
from volcano_py.capture.contents import stripped
from volcano_py.config.text.logins import without_login
from volcano_py.record.answers import answered
from volcano_py.record.entries import (
    AssumedBound,
    AssumedEmitted,
    Began,
    Configured,
    Deleted,
    Emitted,
    Ended,
    Entry,
    Failed,
    Header,
    Outcome,
    QueueFigures,
    Upserted,
)
from volcano_py.record.mirror import Mirror
from volcano_py.record.news import CycleBegan, CycleEmitted, CycleEnded, Heard, News, Seen, Turned
from volcano_py.record.segments import FORMAT, Limits, SegmentWriter, path_of, tidy

log = structlog.get_logger(__name__)

MOST_WAITING: Final = 500_000
"""News that wait for the disk. A first list of 100,000 pods with their PodGroups has less than half of it."""

_FLUSH_EVERY: Final = 1.0  # seconds, in a thread that has much to write
_GATHER: Final = 1.0
"""Seconds between two looks at the news. To wake the thread for each of them costs the loop, from which it takes the
interpreter, several times what writing costs."""


class Recorder:
    """`record` may be called from the thread of the event loop and from that of the cycles. `on_stop` is called, from
    any thread, with why recording has ended."""

    def __init__(
        self,
        directory: Path,
        *,
        scheduler_names: Iterable[str],
        default_queue: str,
        sharding: Sharding | None = None,
        limits: Limits | None = None,
        on_stop: Callable[[str], None] = lambda _why: None,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self.problem = ""
        self._directory, self._limits, self._on_stop = directory, limits or Limits(), on_stop
        self._most_waiting = most_waiting
        self._news: deque[News | None] = deque()
        self._hurry = threading.Event()
        self._header = Header(
            format=FORMAT,
            run=uuid.uuid4().hex[:8],
            sequence=-1,
            began=0.0,
            version=version("volcano-py"),
            scheduler_names=tuple(sorted(scheduler_names)),
            default_queue=default_queue,
            follows_jobs=True,
            has_answers=True,
            sharding=sharding,
        )
        self._written, self._cpu = 0, 0.0
        self._turns, self._turned = 0, time.time()
        self._large = -1
        """After so many turns a segment was begun that is too large."""
        self._thread = threading.Thread(target=self._run, name="record", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def record(self, news: News) -> None:
        """Takes the news over and returns at once."""
        if self.problem:
            return
        if len(self._news) >= self._most_waiting:
            self._stop(f"the disk is too slow: {self._most_waiting} entries wait to be written")
            return
        self._news.append(news)

    def turns(self) -> bool:
        """Before a cycle: whether the next segment begins with it, because this one is full. Then the scheduler has to
        forget what it remembers of the cycles before; a segment has all that the others follow from."""
        is_old = time.time() - self._turned > self._limits.segment_age
        if self.problem or not (is_old or self._large == self._turns):
            return False
        self._turns, self._turned = self._turns + 1, time.time()
        self.record(Turned())
        return True

    def finish(self) -> None:
        """No more news will come: the thread writes what is left, and ends."""
        self._news.append(None)
        self._hurry.set()

    @property
    def is_writing(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """News that are not written yet."""
        return len(self._news)

    def close(self, within: float | None = None) -> None:
        """Finish, and wait for that; so many seconds at most."""
        self.finish()
        self._thread.join(within)

    def status(self) -> dict[str, Any]:
        """What /status shows."""
        return {
            "directory": str(self._directory),
            "recording": not self.problem,
            "problem": self.problem,
            "segment": self._header.sequence,
            "bytes": self._written,
            "cpuSeconds": round(self._cpu, 6),
        }

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            _Writing(self._directory, self._limits, self._header, self._progress).run(self._news, self._hurry, self)
        except OSError as error:
            self._stop(f"{error.filename or self._directory}: {error.strerror}")
        except Exception as error:
            log.exception("recording failed")
            self._stop(f"{type(error).__name__}: {error}")
        else:
            log.info("record written", bytes=self._written, cpu_seconds=round(time.thread_time(), 3))

    def _progress(self, header: Header, written: int, large: int) -> None:
        self._header, self._written, self._large, self._cpu = header, written, large, time.thread_time()

    def _stop(self, why: str) -> None:
        if not self.problem:
            self.problem = why
            log.error("recording has stopped; scheduling goes on", directory=str(self._directory), why=why)
            self._on_stop(why)


class _Writing:
    """The thread's side: makes entries of news, and segments of entries."""

    def __init__(
        self, directory: Path, limits: Limits, header: Header, progress: Callable[[Header, int, int], None]
    ) -> None:
        self._directory, self._limits, self._header, self._progress = directory, limits, header, progress
        self._mirror = Mirror()
        self._encode = msgspec.json.Encoder().encode
        self._configured: dict[str, bool] = {}
        self._queues: dict[str, QueueFigures] = {}
        self._pending: dict[str, PendingJob] = {}
        self._has_cycles = False
        """Whether a cycle has begun in this segment, after which the scheduler remembers something."""
        self._turns, self._before, self._least = 0, 0, 0
        self._flushed = time.monotonic()
        self._segment: SegmentWriter | None = None
        self._write: Callable[[Entry], None] = lambda _entry: None
        self._emitted: Sequence[Effect] = ()
        """What was written last of a cycle."""
        self._takers: dict[type, Callable[[Any], None]] = {
            Seen: self._seen,
            Outcome: self._outcome,
            AssumedBound: self._assumed_bound,
            CycleBegan: self._began,
            Heard: lambda heard: self._write(answered(heard)),
            CycleEmitted: self._cycle_emitted,
            CycleEnded: self._ended,
            Failed: self._failed,
            Turned: self._turned,
        }

    def run(self, news: deque[News | None], hurry: threading.Event, recorder: Recorder) -> None:
        """Until None comes, or recording has ended. Without a `hurry`, some news are left to gather."""
        takers, other = self._takers, self._assumed
        try:
            self._open()
            while not recorder.problem:
                hurry.wait(_GATHER)
                while news and not recorder.problem:
                    each = news.popleft()
                    if each is None:
                        return
                    takers.get(type(each), other)(each)
                self._flush_if_due()
                self._go_on_without_cycles()
        finally:
            if self._segment is not None:
                self._segment.close()
                self._note_progress(self._segment)

    # -- segments ----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        state = [*self._mirror.entries()]
        self._header = msgspec.structs.replace(
            self._header, sequence=self._header.sequence + 1, began=time.time(), state=len(state)
        )
        self._has_cycles = False
        self._configured.clear()
        # (so that a segment has all queues, and all that waits, in its first cycle)
        self._queues, self._pending = {}, {}
        segment = self._segment = SegmentWriter(path_of(self._directory, self._header))
        for entry in (self._header, *state):
            segment.write(entry)
        # (so that states are half of a large cluster's record at most)
        self._least = 2 * segment.size
        self._write = segment.write
        tidy(self._directory, self._limits, time.time())

    def _is_large(self, segment: SegmentWriter) -> bool:
        return segment.size > max(self._limits.segment_size, self._least)

    def _turned(self, _turned: Turned) -> None:
        self._turns += 1
        self._next()

    def _go_on_without_cycles(self) -> None:
        """A replica that does not lead has no cycles, but a limit of time and size, too."""
        segment = self._segment
        if self._has_cycles or segment is None:
            return
        if self._is_large(segment) or time.time() - self._header.began > self._limits.segment_age:
            self._next()

    def _next(self) -> None:
        """Between cycles only: each is whole in one of them."""
        segment, self._segment = self._segment, None
        if segment is not None:
            segment.close()
            self._before += segment.size
        self._open()

    def _flush_if_due(self) -> None:
        if self._segment is None:
            return
        if time.monotonic() - self._flushed >= _FLUSH_EVERY:
            self._segment.flush()
            self._flushed = time.monotonic()
        self._note_progress(self._segment)

    def _note_progress(self, segment: SegmentWriter) -> None:
        self._progress(self._header, self._before + segment.size, self._turns if self._is_large(segment) else -1)

    # -- entries -----------------------------------------------------------------------------------------------------

    def _seen(self, seen: Seen) -> None:
        obj = stripped(seen.object)
        entry = (Deleted if seen.deleted else Upserted)(seen.kind, msgspec.Raw(self._encode(obj)))
        self._mirror.object(entry, obj)
        self._write(entry)

    def _assumed(self, entry: Entry) -> None:
        self._mirror.own(entry)
        self._write(entry)

    def _assumed_bound(self, entry: AssumedBound) -> None:
        """Mostly what was emitted just before."""
        self._mirror.own(entry)
        emitted = [effect for effect in self._emitted if isinstance(effect, Bind)]
        is_same = len(entry.binds) == len(emitted) and all(map(is_, entry.binds, emitted))
        self._write(AssumedEmitted() if is_same else entry)
        self._emitted = ()

    def _outcome(self, entry: Outcome) -> None:
        self._write(entry)

    def _began(self, news: CycleBegan) -> None:
        self._has_cycles = True
        if news.digest not in self._configured:
            self._configured[news.digest] = True
            self._write(Configured(news.digest, without_metrics(news.text)))
        self._write(Began(news.number, news.seed, news.digest, news.decide))

    def _cycle_emitted(self, news: CycleEmitted) -> None:
        self._emitted, encode = news.effects, self._encode
        self._write(Emitted(tuple((type(each).__name__, msgspec.Raw(encode(each))) for each in news.effects)))

    def _failed(self, failed: Failed) -> None:
        self._write(failed)
        self._flush_if_due()

    def _ended(self, ended: CycleEnded) -> None:
        self._write(self._end(ended.report))
        self._flush_if_due()

    def _end(self, report: CycleReport) -> Ended:
        waiting: dict[str, int] = {}
        for job in report.pending:
            waiting[job.queue] = waiting.get(job.queue, 0) + 1
        queues = {
            name: QueueFigures(each.allocated, each.deserved, waiting.get(name, 0))
            for name, each in report.queues.items()
        }
        pending = {job.name: job for job in report.pending}
        ended = Ended(
            report.number,
            round(report.duration, 6),
            _changed(queues, self._queues),
            tuple(_changed(pending, self._pending).values()),
            tuple(self._pending.keys() - pending.keys()),
        )
        self._queues, self._pending = queues, pending
        return ended


def _changed(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in now.items() if before.get(name) != value}


def without_metrics(text: str) -> str:
    """A valid configuration without the section that may hold credentials; no decision follows from it, because what
    was measured is recorded. Logins in addresses are left out everywhere."""
    content = yaml.safe_load(text)
    if not isinstance(content, dict) or "metrics" not in content:
        return without_login(text)
    del content["metrics"]
    return without_login(yaml.safe_dump(content, sort_keys=False))
