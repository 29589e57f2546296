"""The figures measured for each scheduler, computed from the API server's audit log."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np


@dataclass(frozen=True, slots=True)
class Run:
    """One scheduler's figures under one load; seconds, bytes. `notes` holds what only some loads measure.

    `seconds` and `pods_per_second` are 0 where a load has no throughput. `failure` says of a scheduler that bound
    nothing how its process ended, with the end of its log.
    """

    scheduler: str
    pods: int
    seconds: float
    pods_per_second: float
    p50_seconds: float
    p99_seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    notes: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""

    def __str__(self) -> str:
        if self.failure:
            return self.failure
        throughput = f" in {self.seconds:.1f} s, {self.pods_per_second:,.0f}/s" if self.seconds else ""
        latency = f"p50 {self.p50_seconds:.2f} s, p99 {self.p99_seconds:.2f} s"
        return f"{self.scheduler}, {self.pods:,} pods{throughput}, {latency}"

    def as_json(self) -> dict[str, Any]:
        return {
            "scheduler": self.scheduler,
            "pods": self.pods,
            "seconds": self.seconds,
            "pods_per_second": self.pods_per_second,
            "p50_seconds": self.p50_seconds,
            "p99_seconds": self.p99_seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_rss_bytes": self.peak_rss_bytes,
            **self.notes,
            **({"failure": self.failure} if self.failure else {}),
        }


@dataclass(frozen=True, slots=True)
class Timeline:
    """When pods were created and bound, seconds since the epoch, by namespace/name.

    `jobs`: when Volcano Jobs were created. `writes`: seconds that the API server itself took to create each pod.
    """

    created: Mapping[str, float]
    bound: Mapping[str, float]
    jobs: Mapping[str, float] = field(default_factory=dict)
    writes: Mapping[str, float] = field(default_factory=dict)

    def latencies(self) -> np.ndarray:
        """[pods] seconds from created to bound, of pods that have both."""
        return np.array([moment - self.created[key] for key, moment in self.bound.items() if key in self.created])

    @property
    def last_bound(self) -> float:
        return max(self.bound.values(), default=0.0)

    @property
    def first_bound(self) -> float:
        return min(self.bound.values(), default=0.0)


class _Ref(msgspec.Struct, rename="camel", frozen=True):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _User(msgspec.Struct):
    username: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    stage: str = ""
    verb: str = ""
    request_received_timestamp: datetime | None = None
    stage_timestamp: datetime | None = None
    object_ref: _Ref = msgspec.field(default_factory=_Ref)
    response_status: _Status = msgspec.field(default_factory=_Status)
    user: _User = msgspec.field(default_factory=_User)


_DECODER = msgspec.json.Decoder(_Entry)
_WRITES = frozenset({"create", "patch", "update"})


class AuditLog:
    """Reads what was appended since the last look."""

    def __init__(self, path: Path, writer: str = "") -> None:
        """`writer`: the user whose writes `last_first_write` follows; the log must have all of them."""
        self._path, self._writer = path, writer
        self._offset = 0
        self._rest = b""
        # by namespace, as the count of a namespace's bindings is asked for many times
        self._created: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._bound: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._jobs: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._writes: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._throttled: Counter[str] = Counter()
        self._written: defaultdict[str, set[tuple[str, _Ref]]] = defaultdict(set)
        self._first_written: dict[str, float] = {}

    def timeline(self, namespace: str) -> Timeline:
        """Everything so far about the pods of one namespace."""
        self._read()
        of = (self._created, self._bound, self._jobs, self._writes)
        return Timeline(*(each[namespace].copy() for each in of))

    def bound(self, namespace: str) -> int:
        """How many pods of the namespace have been bound."""
        self._read()
        return len(self._bound[namespace])

    def throttled(self, namespace: str) -> int:
        """How many bindings in the namespace the API server put off as too many at once."""
        self._read()
        return self._throttled[namespace]

    def last_first_write(self, namespace: str) -> float:
        """When the writer last wrote something for the first time: created an object, or patched one that it had not
        patched before, or another subresource of it. Events do not count. Seconds since the epoch; 0 for never."""
        self._read()
        return self._first_written.get(namespace, 0.0)

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = self._rest + file.read()
            self._offset = file.tell()
        *lines, self._rest = data.split(b"\n")
        for line in lines:
            if line:
                self._take(_DECODER.decode(line))

    def _take(self, entry: _Entry) -> None:
        ref, moment = entry.object_ref, entry.stage_timestamp
        if entry.stage != "ResponseComplete" or moment is None:
            return
        if entry.user.username == self._writer and entry.verb in _WRITES and ref.resource != "events":
            self._note_write(entry.verb, ref, moment)
        if entry.verb != "create":
            return
        what = (ref.resource, ref.subresource)
        code = entry.response_status.code
        if code == 429 and what == ("pods", "binding"):
            self._throttled[ref.namespace] += 1
        if code >= 300:
            return
        key = f"{ref.namespace}/{ref.name}"
        target = {("pods", ""): self._created, ("pods", "binding"): self._bound, ("jobs", ""): self._jobs}.get(what)
        if target is not None:
            target[ref.namespace][key] = moment.timestamp()
        if target is self._created and entry.request_received_timestamp is not None:
            self._writes[ref.namespace][key] = (moment - entry.request_received_timestamp).total_seconds()

    def _note_write(self, verb: str, ref: _Ref, moment: datetime) -> None:
        written = self._written[ref.namespace]
        if (verb, ref) not in written:
            written.add((verb, ref))
            self._first_written[ref.namespace] = max(moment.timestamp(), self._first_written.get(ref.namespace, 0.0))


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    # proc(5): fields 14 and 15, counted after the command in parentheses; clock ticks are 1/100 s on Linux
    text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(text[11]) + int(text[12])) / 100


def peak_rss(pid: int) -> int:
    """The most memory a process has had, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def percentiles(latencies: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """The 50th and the 99th; 0 of nothing."""
    if not len(latencies):
        return 0.0, 0.0
    return float(np.percentile(latencies, 50)), float(np.percentile(latencies, 99))
