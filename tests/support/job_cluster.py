"""A cluster for the job controller: an API server in memory whose watches tell at once, a scheduler and kubelets that
take a second each, and controllers that can be killed at any request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from volcano_py.api.effects import Event
from volcano_py.api.objects import Namespace, Pod, PodGroup, PriorityClass
from volcano_py.jobs.model import Job
from volcano_py.operator.jobs import JobController

NAMESPACE = "ns"
JOBS = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
GROUPS = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{NAMESPACE}/podgroups"
KINDS: dict[str, tuple[str, type]] = {
    JOBS: ("VolcanoJob", Job),
    PODS: ("Pod", Pod),
    GROUPS: ("PodGroup", PodGroup),
    "/api/v1/namespaces": ("Namespace", Namespace),
    "/apis/scheduling.k8s.io/v1/priorityclasses": ("PriorityClass", PriorityClass),
}
EPOCH = 1_800_000_000.0


class Killed(BaseException):
    """The controller's process is no more."""


def task(name: str, replicas: int, **fields: Any) -> dict[str, Any]:
    """A task of pods that ask for one CPU."""
    container = {"name": "main", "image": "work", "resources": {"requests": {"cpu": "1"}}}
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [container]}}, **fields}


def job(*tasks: dict[str, Any], name: str = "train", **spec: Any) -> dict[str, Any]:
    """A Job manifest."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "generation": 1},
        "spec": {"schedulerName": "volcano", "queue": "default", "maxRetry": 3, "tasks": list(tasks), **spec},
    }


class JobCluster:
    """`api` is a fresh `FakeApi` of the operator's tests; it is taken over."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self.events: list[Event] = []
        self.admits = True
        """Whether the scheduler lets PodGroups in."""
        self.runs: Callable[[str], bool] = lambda name: True
        """Whether the pod of this name gets to run when it can."""
        self.calls = 0
        self.killing: tuple[int, bool] | None = None
        """Kill the controller at this request, before it is carried out or (True) before its answer comes."""
        self.controller: JobController | None = None
        self._task: asyncio.Task[None] | None = None
        self.created: Counter[tuple[str, str]] = Counter()
        """How often a pod with this name and version came to be."""
        self._seen: dict[str, tuple[str, str]] = {}  # path → UID and version
        self._dead = False
        self._wrap()

    def _wrap(self) -> None:
        for verb in ("get", "post", "patch", "delete"):
            original = getattr(self.api, verb)

            async def call(path: str, *arguments: Any, original: Any = original) -> bytes:
                if self._dead:
                    raise Killed
                self.calls += 1
                due = self.killing is not None and self.calls == self.killing[0]
                if due and not self.killing[1]:  # type: ignore[index]
                    self._dead = True
                    raise Killed
                if path == PODS:
                    arguments[0]["metadata"]["creationTimestamp"] = datetime.fromtimestamp(self.now(), UTC).isoformat()
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

    def start(self) -> None:
        """A controller process starts: it lists everything, then works."""
        self._dead = False
        self.controller = JobController(
            self.api, active=lambda: not self._dead, record=self.events.append, now=self.now
        )
        self._tell(everything=True)
        self._task = asyncio.create_task(self.controller.run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def now(self) -> float:
        return EPOCH + asyncio.get_running_loop().time()

    async def live(self, seconds: int = 10) -> None:
        """Let so much time pass. A controller that was killed is followed by another one a second later."""
        for _ in range(seconds):
            await asyncio.sleep(1)
            if self._dead:
                await self.stop()
                self.killing = None
                self.start()
            self._scheduler_and_kubelets()
            self._tell()
        await asyncio.sleep(0.9)

    def _scheduler_and_kubelets(self) -> None:
        for path, group in self._of(GROUPS).items():
            if self.admits and group.get("status", {}).get("phase", "Pending") == "Pending":
                self.api.put(path, {**group, "status": {"phase": "Inqueue"}})
        for pod in self._of(PODS).values():
            name = pod["metadata"]["name"]
            if pod.get("status", {}).get("phase", "Pending") == "Pending" and self.runs(name):
                self.pod_is(name, "Running", conditions=[{"type": "Ready", "status": "True"}])

    def pod_is(self, name: str, phase: str, exit_code: int | None = None, **status: Any) -> None:
        """What a kubelet reports of a pod."""
        pod = self.api.objects[f"{PODS}/{name}"]
        if exit_code is not None:
            status["containerStatuses"] = [{"name": "main", "state": {"terminated": {"exitCode": exit_code}}}]
        self.api.put(f"{PODS}/{name}", {**pod, "status": {"phase": phase, **status}})
        self._tell()

    def remove_pod(self, name: str) -> None:
        """Somebody deletes a pod."""
        del self.api.objects[f"{PODS}/{name}"]
        self._tell()

    def submit(self, manifest: dict[str, Any]) -> None:
        self.api.put(f"{JOBS}/{manifest['metadata']['name']}", manifest)
        self._tell()

    def edit(self, name: str = "train", **spec: Any) -> None:
        """Change the spec of a job, as kubectl apply does."""
        found = self.api.objects[f"{JOBS}/{name}"]
        metadata = {**found["metadata"], "generation": found["metadata"]["generation"] + 1}
        self.api.put(f"{JOBS}/{name}", {**found, "metadata": metadata, "spec": {**found["spec"], **spec}})
        self._tell()

    # What a test looks at.

    def status(self, name: str = "train") -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{JOBS}/{name}"].get("status", {})
        return found

    def phase(self, name: str = "train") -> str:
        return str(self.status(name).get("state", {}).get("phase", ""))

    def pods(self) -> dict[str, str]:
        """Pods by name with their phase."""
        return {
            pod["metadata"]["name"]: pod.get("status", {}).get("phase", "Pending") for pod in self._of(PODS).values()
        }

    def pod(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{PODS}/{name}"]
        return found

    def groups(self) -> list[dict[str, Any]]:
        return list(self._of(GROUPS).values())

    def told(self, reason: str) -> list[str]:
        """Messages of the events with this reason."""
        return [event.message for event in self.events if event.reason == reason]

    def summary(self) -> dict[str, Any]:
        """How everything stands, without what depends on when and in which order it came about."""
        status, passing = self.status(), ("state", "conditions", "runningDuration")
        return {
            "job": {key: value for key, value in status.items() if key not in passing}
            | {"phase": self.phase(), "history": [each["status"] for each in status.get("conditions", ())]},
            "pods": {
                name: (phase, self.pod(name)["metadata"]["annotations"]["volcano.sh/job-version"])
                for name, phase in sorted(self.pods().items())
            },
            "groups": [(group["spec"], group["status"], group["metadata"]["annotations"]) for group in self.groups()],
            "others": sorted(path for path in self.api.objects if not path.startswith((JOBS, PODS, GROUPS))),
        }

    # Watches.

    def _of(self, root: str) -> dict[str, dict[str, Any]]:
        return {path: obj for path, obj in self.api.objects.items() if path.rsplit("/", 1)[0] == root}

    def _tell(self, *, everything: bool = False) -> None:
        """Tell the controller of what has changed; `everything` tells it as lists."""
        if self.controller is not None:
            for root, (kind, of) in KINDS.items():
                self._tell_kind(self.controller, root, kind, of, everything)
        for path, pod in self._of(PODS).items():
            metadata = pod["metadata"]
            if self._seen.get(path, ("", ""))[0] != metadata["uid"] and metadata.get("ownerReferences"):
                self.created[metadata["name"], metadata["annotations"]["volcano.sh/job-version"]] += 1
        self._seen = {
            path: (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]) for path, obj in self.api.objects.items()
        }

    def _tell_kind(self, controller: JobController, root: str, kind: str, of: type, everything: bool) -> None:
        objects: dict[str, Any] = {path: msgspec.convert(obj, of, strict=False) for path, obj in self._of(root).items()}
        if everything:
            controller.replace(kind, list(objects.values()))
            return
        for path, (uid, _) in self._seen.items():
            if path.rsplit("/", 1)[0] == root and path not in objects:
                metadata = {"name": path.rsplit("/", 1)[1], "namespace": NAMESPACE, "uid": uid}
                controller.delete(kind, msgspec.convert({"metadata": metadata}, of))
        for path, obj in objects.items():
            if self._seen.get(path, ("", ""))[1] != obj.metadata.resource_version:
                controller.upsert(kind, obj)
