"""Volcano Jobs that come, are edited, fail, end and go, by chance: what the churn leaves to the job controller."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from e2e.faults.injection.patience import patiently
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod_spec

COMPLETES = "pod-complete.stage.kwok.x-k8s.io/delay"
FAILS = "pod-fail.stage.kwok.x-k8s.io/delay"

TTL_SECONDS = 2
"""For which jobs that have one stay after their end."""

_NUMBER = "e2e.volcano-py/number"
"""Annotation that distinguishes a job from its namesakes before its UID is known."""
_MOST_REPLICAS = 4
_ENDLESS = 1000
"""As `maxRetry`: it is never reached."""
_ABORTED = (0.5, 4.0)
"""Seconds for which a job is aborted."""
_NAMESAKE_PAUSE = 0.2

_POLICIES: tuple[tuple[Mapping[str, str], ...], ...] = (
    (),
    ({"event": "PodFailed", "action": "RestartJob"},),
    ({"event": "PodFailed", "action": "RestartPod"}, {"event": "PodEvicted", "action": "RestartTask"}),
    ({"event": "PodEvicted", "action": "RestartJob"}, {"event": "JobUpdated", "action": "RestartJob"}),
    ({"event": "PodFailed", "action": "TerminateJob"}, {"event": "TaskCompleted", "action": "CompleteJob"}),
)

Change = Callable[[], Awaitable[None]]
Leave = Callable[[str, Callable[[], Awaitable[object]]], None]
"""Called with a name and what brings it back in a while."""


@dataclass(slots=True)
class ChurningJob:
    """A job as it was written last; `ends` when its pods finish by themselves."""

    name: str
    number: int
    """No other job has it, also no namesake."""
    cpu: int
    replicas: dict[str, int]
    """By task."""
    minimum: int
    ends: bool
    spec: dict[str, Any] = field(default_factory=dict)
    """Whatever else its spec says."""

    @property
    def demand(self) -> int:
        """CPUs asked for."""
        return 0 if self.ends else self.cpu * sum(self.replicas.values())

    @property
    def pods(self) -> list[str]:
        return [f"{self.name}-{task}-{index}" for task, count in self.replicas.items() for index in range(count)]


class JobChurn:
    """Changes the jobs of a namespace; `jobs` are those that there are, or are about to be."""

    def __init__(
        self,
        namespace: Namespace,
        selector: Mapping[str, str],
        queues: tuple[str, ...],
        rng: random.Random,
        leave: Leave,
    ) -> None:
        self.jobs: dict[str, ChurningJob] = {}
        self._client = namespace.cluster.client
        self._selector, self._queues, self._rng, self._leave = selector, queues, rng, leave
        self._path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs"
        self._commands = f"/apis/bus.volcano.sh/v1alpha1/namespaces/{namespace.name}/commands"
        self._pods = f"/api/v1/namespaces/{namespace.name}/pods"
        self._number = 0

    @property
    def demand(self) -> int:
        """CPUs asked for."""
        return sum(job.demand for job in self.jobs.values())

    def changes(self, grow: float, shrink: float) -> dict[Change, float]:
        """What may be done, and how likely it is."""
        return {
            self._create: grow / 2,
            self.delete: shrink / 2,
            self._replace: 0.5,
            self._edit: 1.5,
            self._fail_pod: 1.5,
            self._complete_task: 0.5,
            self._evict_pod: 1.0,
            self._abort: 0.5,
        }

    async def delete(self) -> None:
        """One of them, if there is any; what it has made is the garbage collector's."""
        if self.jobs:
            job = self.jobs.pop(self._any().name)
            policy = self._rng.choice(("Background", "Foreground"))
            await patiently(
                lambda: self._client.delete(f"{self._path}/{job.name}", {"propagationPolicy": policy}), fine=(404,)
            )

    # -- one change ------------------------------------------------------------------------------------------------

    async def _create(self) -> None:
        await self._make(f"job-{self._number + 1}")

    async def _replace(self) -> None:
        """Deleted, and another one made under its name, while the pods of the first are still there."""
        if self.jobs:
            job = self._any()
            await patiently(
                lambda: self._client.delete(f"{self._path}/{job.name}", {"propagationPolicy": "Background"}),
                fine=(404,),
            )
            await self._make(job.name)

    async def _edit(self) -> None:
        """More or fewer replicas, and another minimum."""
        lasting = [job for job in self.jobs.values() if not job.ends]
        if not lasting:
            return
        job = self._rng.choice(lasting)
        job.replicas[self._rng.choice(list(job.replicas))] = self._rng.randint(1, _MOST_REPLICAS)
        job.minimum = self._some_minimum(job.replicas)
        spec = {"minAvailable": job.minimum, "tasks": self._tasks(job)}
        # One that has a time to live may be gone.
        await patiently(lambda: self._client.merge_patch(f"{self._path}/{job.name}", {"spec": spec}), fine=(404,))

    async def _fail_pod(self) -> None:
        if self.jobs:
            await self._annotate(self._rng.choice(self._any().pods), FAILS)

    async def _complete_task(self) -> None:
        if self.jobs:
            job = self._any()
            task = self._rng.choice(list(job.replicas))
            for index in range(job.replicas[task]):
                await self._annotate(f"{job.name}-{task}-{index}", COMPLETES)

    async def _evict_pod(self) -> None:
        if self.jobs:
            name = self._rng.choice(self._any().pods)
            await patiently(lambda: self._client.delete(f"{self._pods}/{name}"), fine=(404,))

    async def _abort(self) -> None:
        """By a Command, and resumed by another one. A daemon that is killed may take a Command with it."""
        if self.jobs:
            job = self._any()
            await self._command(job, "AbortJob")
            self._leave(f"job {job.number}", lambda: self._command(job, "ResumeJob"))

    # -- requests --------------------------------------------------------------------------------------------------

    def _any(self) -> ChurningJob:
        return self.jobs[self._rng.choice(list(self.jobs))]

    def _some_minimum(self, replicas: Mapping[str, int]) -> int:
        total = sum(replicas.values())
        return total if self._rng.random() < 0.6 else self._rng.randint(1, total)

    async def _make(self, name: str) -> None:
        self._number += 1
        tasks = self._rng.choice((("worker",), ("master", "worker")))
        replicas = {task: self._rng.randint(1, _MOST_REPLICAS) for task in tasks}
        spec: dict[str, Any] = {
            "queue": self._rng.choice(self._queues),
            "maxRetry": self._rng.choice((3, _ENDLESS, _ENDLESS)),
            "policies": list(self._rng.choice(_POLICIES)),
        }
        if self._rng.random() < 0.3:
            spec["ttlSecondsAfterFinished"] = TTL_SECONDS
        if self._rng.random() < 0.3:
            spec["plugins"] = {"svc": [], "env": []}
        job = ChurningJob(
            name=name,
            number=self._number,
            cpu=self._rng.choice((1, 1, 2)),
            replicas=replicas,
            minimum=self._some_minimum(replicas),
            ends=self._rng.random() < 0.3,
            spec=spec,
        )
        self.jobs[name] = job
        body = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name, "annotations": {_NUMBER: str(job.number)}},
            "spec": {**spec, "minAvailable": job.minimum, "tasks": self._tasks(job)},
        }
        while await patiently(lambda: self._client.create(self._path, body), fine=(409,)) is None:
            # Made by a request whose answer was lost, or its namesake is not gone yet.
            there = await patiently(lambda: self._client.get(f"{self._path}/{name}"), fine=(404,))
            if there is not None and there["metadata"]["annotations"].get(_NUMBER) == str(job.number):
                return
            await asyncio.sleep(_NAMESAKE_PAUSE)

    def _tasks(self, job: ChurningJob) -> list[dict[str, Any]]:
        annotations = {COMPLETES: "1s"} if job.ends else {}
        spec = pod_spec(cpu=str(job.cpu), node_selector=self._selector, scheduler_name="", restartPolicy="Never")
        template = {"metadata": {"annotations": annotations}, "spec": spec}
        return [{"name": task, "replicas": count, "template": template} for task, count in job.replicas.items()]

    async def _annotate(self, pod: str, annotation: str) -> None:
        body = {"metadata": {"annotations": {annotation: "0s"}}}
        await patiently(lambda: self._client.merge_patch(f"{self._pods}/{pod}", body), fine=(404,))

    async def _command(self, job: ChurningJob, action: str) -> None:
        there = await patiently(lambda: self._client.get(f"{self._path}/{job.name}"), fine=(404,))
        if there is None or there["metadata"]["annotations"].get(_NUMBER) != str(job.number):
            return
        target = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "name": job.name,
            "uid": there["metadata"]["uid"],
        }
        body = {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {"generateName": f"{job.name}-"},
            "action": action,
            "target": target,
        }
        await patiently(lambda: self._client.create(self._commands, body))
