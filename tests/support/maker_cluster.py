"""A cluster for the controllers that make Volcano Jobs: an API server in memory whose watches tell at once, a job
controller that takes a while for each Job, and controllers that can be killed at any request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from volcano_py.api.effects import Event
from volcano_py.cluster.protocol import Sink
from volcano_py.jobs.cron import CronJob
from volcano_py.jobs.flow_model import JobFlow, JobTemplate
from volcano_py.jobs.model import Job

NAMESPACE = "ns"
_BATCH, _FLOW = "/apis/batch.volcano.sh/v1alpha1", "/apis/flow.volcano.sh/v1alpha1"
JOBS = f"{_BATCH}/namespaces/{NAMESPACE}/jobs"
CRONS = f"{_BATCH}/namespaces/{NAMESPACE}/cronjobs"
FLOWS = f"{_FLOW}/namespaces/{NAMESPACE}/jobflows"
TEMPLATES = f"{_FLOW}/namespaces/{NAMESPACE}/jobtemplates"
KINDS: Mapping[str, tuple[str, type]] = {
    JOBS: ("VolcanoJob", Job),
    CRONS: ("VolcanoCronJob", CronJob),
    FLOWS: ("JobFlow", JobFlow),
    TEMPLATES: ("JobTemplate", JobTemplate),
}
EPOCH = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Killed(BaseException):
    """The controller's process is no more."""


class Controller(Sink, Protocol):
    """What is under test."""

    def run(self) -> Awaitable[None]: ...


class MakerCluster:
    """`api` is a fresh `FakeApi` of the operator's tests; it is taken over. `make` makes a controller."""

    def __init__(self, api: Any, make: Callable[[MakerCluster], Controller]) -> None:
        self.api, self._make = api, make
        self.events: list[Event] = []
        self.takes = 5.0
        """Seconds that a Job runs."""
        self.ends: Callable[[str], str] = lambda name: "Completed"
        """Phase in which the Job of this name ends; "" if it never does."""
        self.leads = True
        self.calls = 0
        self.killing: tuple[int, bool] | None = None
        """Kill the controller at this request, before it is carried out or (True) before its answer comes."""
        self.controller: Controller | None = None
        self.made: Counter[str] = Counter()
        """How often a Job of this name came to be."""
        self._task: asyncio.Task[None] | None = None
        self._seen: dict[str, tuple[str, str]] = {}  # path → UID and version
        self._dead = False
        self._born = asyncio.get_running_loop().time()
        self._wrap()

    def _wrap(self) -> None:
        put, post = self.api.put, self.api.post

        def put_with_time(path: str, obj: dict[str, Any]) -> dict[str, Any]:
            obj.setdefault("metadata", {}).setdefault("creationTimestamp", f"{self.now():%Y-%m-%dT%H:%M:%SZ}")
            stored: dict[str, Any] = put(path, obj)
            return stored

        self.api.put = put_with_time
        for verb, original in (
            ("get", self.api.get),
            ("post", post),
            ("patch", self.api.patch),
            ("delete", self.api.delete),
        ):

            async def call(path: str, *arguments: Any, original: Any = original, verb: str = verb) -> bytes:
                if self._dead:
                    raise Killed
                self.calls += 1
                due = self.killing is not None and self.calls == self.killing[0]
                if due and not self.killing[1]:  # type: ignore[index]
                    self._dead = True
                    raise Killed
                try:
                    answer: bytes = await original(path, *arguments)
                finally:
                    self._tell()
                if due:
                    self._dead = True
                    raise Killed
                return answer

            setattr(self.api, verb, call)

    # The cluster's life.

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time() - self._born)

    def start(self) -> None:
        """A controller process starts: it lists everything, then works."""
        self._dead = False
        self.controller = self._make(self)
        self._tell(everything=True)
        self._task = asyncio.ensure_future(self.controller.run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def is_leading(self) -> bool:
        """Whether the controller may write."""
        return self.leads and not self._dead

    async def live(self, seconds: float) -> None:
        """Let so much time pass. A controller that was killed is followed by another one within a second."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.5)
            if self._dead:
                await self.stop()
                self.killing = None
                self.start()
            self._job_controller()
            self._tell()

    def _job_controller(self) -> None:
        for path, job in self.of(JOBS).items():
            name, status = job["metadata"]["name"], job.get("status", {})
            age = (self.now() - datetime.fromisoformat(job["metadata"]["creationTimestamp"])).total_seconds()
            phase = status.get("state", {}).get("phase", "")
            if phase == "":
                self.job_is(path, "Running")
            elif phase == "Running" and age >= self.takes and self.ends(name):
                self.job_is(path, self.ends(name))

    def job_is(self, path: str, phase: str, **status: Any) -> None:
        """What a job controller says of a Job."""
        state = {"phase": phase, "lastTransitionTime": f"{self.now():%Y-%m-%dT%H:%M:%SZ}"}
        self.api.put(path, {**self.api.objects[path], "status": {"state": state, **status}})

    def submit(self, root: str, name: str, spec: dict[str, Any]) -> None:
        """Somebody creates an object, or changes its spec."""
        path = f"{root}/{name}"
        found = self.api.objects.get(path, {"metadata": {"name": name, "namespace": NAMESPACE}})
        self.api.put(path, {**found, "spec": spec})
        self._tell()

    def remove(self, path: str) -> None:
        """Somebody deletes an object."""
        del self.api.objects[path]
        self._tell()

    # What a test looks at.

    def of(self, root: str) -> dict[str, dict[str, Any]]:
        """Objects of a kind by their paths."""
        return {path: obj for path, obj in self.api.objects.items() if path.rsplit("/", 1)[0] == root}

    def jobs(self) -> dict[str, str]:
        """Jobs by name with their phase."""
        return {
            job["metadata"]["name"]: job.get("status", {}).get("state", {}).get("phase", "")
            for job in self.of(JOBS).values()
        }

    def status(self, root: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{root}/{name}"].get("status", {})
        return found

    def told(self, reason: str) -> list[str]:
        """Messages of the events with this reason."""
        return [event.message for event in self.events if event.reason == reason]

    # Watches.

    def _tell(self, *, everything: bool = False) -> None:
        """Tell the controller of what has changed; `everything` tells it as lists."""
        for path, job in self.of(JOBS).items():
            if self._seen.get(path, ("", ""))[0] != job["metadata"]["uid"]:
                self.made[job["metadata"]["name"]] += 1
        seen, self._seen = (
            self._seen,
            {
                path: (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])
                for path, obj in self.api.objects.items()
            },
        )
        if self.controller is not None:
            for root, (kind, of) in KINDS.items():
                self._tell_kind(self.controller, seen, root, kind, of, everything)

    def _tell_kind(
        self, controller: Sink, seen: dict[str, tuple[str, str]], root: str, kind: str, of: type, everything: bool
    ) -> None:
        objects: dict[str, Any] = {path: msgspec.convert(obj, of, strict=False) for path, obj in self.of(root).items()}
        if everything:
            controller.replace(kind, list(objects.values()))
            return
        for path, (uid, _) in seen.items():
            if path.rsplit("/", 1)[0] == root and path not in objects:
                metadata = {"name": path.rsplit("/", 1)[1], "namespace": NAMESPACE, "uid": uid}
                controller.delete(kind, msgspec.convert({"metadata": metadata}, of))
        for path, obj in objects.items():
            if seen.get(path, ("", ""))[1] != obj.metadata.resource_version:
                controller.upsert(kind, obj)
