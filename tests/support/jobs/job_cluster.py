"""A cluster for the job controller, with a scheduler and kubelets that take a second each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from tests.support.jobs.killable import KillableCluster, Kinds
from volcano_py.api.objects import Namespace, Pod, PodGroup, PriorityClass
from volcano_py.jobs.model import JobAction, VolcanoJob
from volcano_py.operator.jobs.controller import JobController

NAMESPACE = "ns"
JOBS = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
GROUPS = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{NAMESPACE}/podgroups"
KINDS: Final[Kinds] = {
    JOBS: ("VolcanoJob", VolcanoJob),
    PODS: ("Pod", Pod),
    GROUPS: ("PodGroup", PodGroup),
    "/api/v1/namespaces": ("Namespace", Namespace),
    "/apis/scheduling.k8s.io/v1/priorityclasses": ("PriorityClass", PriorityClass),
}


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


class JobCluster(KillableCluster[JobController]):
    """`api` is a fresh `FakeApi` of the operator's tests; it is taken over."""

    def __init__(self, api: Any) -> None:
        super().__init__(api, NAMESPACE, KINDS)
        self.admits = True
        """Whether the scheduler lets PodGroups in."""
        self._leaving: dict[str, int] = {}  # path of a pod → seconds until it is gone
        self.runs: Callable[[str], bool] = lambda name: True
        """Whether the pod of this name gets to run when it can."""
        self.created: Counter[tuple[str, str]] = Counter()
        """How often a pod with this name and version came to be."""
        self.made_after: list[float] = []
        """For each pod made, how many seconds after the job the controller says it was."""
        self.options: dict[str, Any] = {}
        """Further arguments of controllers that are to come."""

    def make(self) -> JobController:
        options: dict[str, Any] = {"now": lambda: self.now().timestamp(), **self.options}
        return JobController(
            self.api,
            active=lambda: self.is_leading,
            record=self.events.append,
            pod_created=self.made_after.append,
            **options,
        )

    def came(self, path: str, obj: dict[str, Any]) -> None:
        metadata = obj["metadata"]
        if path.startswith(f"{PODS}/") and metadata.get("ownerReferences"):
            self.created[metadata["name"], metadata["annotations"]["volcano.sh/job-version"]] += 1

    # The cluster's life.

    async def live(self, seconds: int = 10) -> None:
        """Let so much time pass. A controller that was killed is followed by another one a second later."""
        for _ in range(seconds):
            await asyncio.sleep(1)
            await self.revive()
            self._let_go()
            self._scheduler_and_kubelets()
            self._report()
        await asyncio.sleep(0.9)

    def _scheduler_and_kubelets(self) -> None:
        for path, group in self.of(GROUPS).items():
            if self.admits and group.get("status", {}).get("phase", "Pending") == "Pending":
                self.api.put(path, {**group, "status": {"phase": "Inqueue"}})
        for pod in self.of(PODS).values():
            name = pod["metadata"]["name"]
            if pod.get("status", {}).get("phase", "Pending") == "Pending" and self.runs(name):
                self.pod_is(name, "Running", conditions=[{"type": "Ready", "status": "True"}])

    def pod_is(self, name: str, phase: str, exit_code: int | None = None, **status: Any) -> None:
        """What a kubelet reports of a pod."""
        pod = self.api.objects[f"{PODS}/{name}"]
        if exit_code is not None:
            status["containerStatuses"] = [{"name": "main", "state": {"terminated": {"exitCode": exit_code}}}]
        self.api.put(f"{PODS}/{name}", {**pod, "status": {"phase": phase, **status}})
        self._report()

    def remove_pod(self, name: str) -> None:
        """A user deletes a pod."""
        del self.api.objects[f"{PODS}/{name}"]
        self._report()

    def evict(self, pods: Mapping[str, int]) -> None:
        """The scheduler evicts them in one cycle: it says so in their conditions, then deletes them. Each is gone after
        so many seconds (0: at once)."""
        for name in pods:
            pod = self.pod(name)
            target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
            self.pod_is(name, pod["status"]["phase"], conditions=[{"type": "Ready", "status": "False"}, target])
        for name, seconds in pods.items():
            pod = self.pod(name)
            deletion = {"deletionTimestamp": f"{self.now() + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"}
            self._leaving[f"{PODS}/{name}"] = seconds
            self.api.put(f"{PODS}/{name}", {**pod, "metadata": {**pod["metadata"], **deletion}})
        self._let_go(0)

    def _let_go(self, seconds: int = 1) -> None:
        """So much of the time that pods take to leave is over."""
        left = {path: rest - seconds for path, rest in self._leaving.items() if path in self.api.objects}
        self._leaving = {path: rest for path, rest in left.items() if rest > 0}
        for path in left.keys() - self._leaving.keys():
            del self.api.objects[path]
        self._report()

    def submit(self, manifest: dict[str, Any]) -> None:
        self.api.put(f"{JOBS}/{manifest['metadata']['name']}", manifest)
        self._report()

    def edit(self, name: str = "train", **spec: Any) -> None:
        """Change the spec of a job, as kubectl apply does."""
        found = self.api.objects[f"{JOBS}/{name}"]
        metadata = {**found["metadata"], "generation": found["metadata"]["generation"] + 1}
        self.api.put(f"{JOBS}/{name}", {**found, "metadata": metadata, "spec": {**found["spec"], **spec}})
        self._report()

    def ask(self, action: JobAction, uid: str = "") -> None:
        """A Command about the job `train`."""
        assert self.controller is not None
        self.controller.request(f"{NAMESPACE}/train", action, f"Command {NAMESPACE}/c", uid)

    # What a test looks at.

    def status(self, name: str = "train") -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{JOBS}/{name}"].get("status", {})
        return found

    def phase(self, name: str = "train") -> str:
        return str(self.status(name).get("state", {}).get("phase", ""))

    def pods(self) -> dict[str, str]:
        """Pods by name with their phase."""
        return {
            pod["metadata"]["name"]: pod.get("status", {}).get("phase", "Pending") for pod in self.of(PODS).values()
        }

    def pod(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{PODS}/{name}"]
        return found

    def groups(self) -> list[dict[str, Any]]:
        return list(self.of(GROUPS).values())

    def summary(self) -> dict[str, Any]:
        """How everything stands, without what depends on when and in which order it came about."""
        status, transient = self.status(), ("state", "conditions", "runningDuration")
        return {
            "job": {key: value for key, value in status.items() if key not in transient}
            | {"phase": self.phase(), "history": [each["status"] for each in status.get("conditions", ())]},
            "pods": {
                name: (phase, self.pod(name)["metadata"]["annotations"]["volcano.sh/job-version"])
                for name, phase in sorted(self.pods().items())
            },
            "groups": [(group["spec"], group["status"], group["metadata"]["annotations"]) for group in self.groups()],
            "others": sorted(path for path in self.api.objects if not path.startswith((JOBS, PODS, GROUPS))),
        }
