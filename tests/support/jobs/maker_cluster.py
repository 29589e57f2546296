"""A cluster for the controllers that make Volcano Jobs, with a job controller that takes a while for each Job."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from tests.support.jobs.killable import Controller, KillableCluster, Kinds
from volcano_py.jobs.crons.plan import CronJob
from volcano_py.jobs.flows.model import JobFlow, JobTemplate
from volcano_py.jobs.model import VolcanoJob

NAMESPACE = "ns"
_BATCH, _FLOW = "/apis/batch.volcano.sh/v1alpha1", "/apis/flow.volcano.sh/v1alpha1"
JOBS = f"{_BATCH}/namespaces/{NAMESPACE}/jobs"
CRONS = f"{_BATCH}/namespaces/{NAMESPACE}/cronjobs"
FLOWS = f"{_FLOW}/namespaces/{NAMESPACE}/jobflows"
TEMPLATES = f"{_FLOW}/namespaces/{NAMESPACE}/jobtemplates"
KINDS: Final[Kinds] = {
    JOBS: ("VolcanoJob", VolcanoJob),
    CRONS: ("VolcanoCronJob", CronJob),
    FLOWS: ("JobFlow", JobFlow),
    TEMPLATES: ("JobTemplate", JobTemplate),
}


class MakerCluster(KillableCluster[Controller]):
    """`api` is a fresh `FakeApi` of the operator's tests; it is taken over. `make` makes a controller."""

    def __init__(self, api: Any, make: Callable[[MakerCluster], Controller]) -> None:
        super().__init__(api, NAMESPACE, KINDS)
        self._make = make
        self.takes = 5.0
        """Seconds that a Job runs."""
        self.ends: Callable[[str], str] = lambda name: "Completed"
        """Phase in which the Job of this name ends; "" if it never does."""
        self.made: Counter[str] = Counter()
        """How often a Job of this name came to be."""

    def make(self) -> Controller:
        return self._make(self)

    def came(self, path: str, obj: dict[str, Any]) -> None:
        if path.startswith(f"{JOBS}/"):
            self.made[obj["metadata"]["name"]] += 1

    # The cluster's life.

    async def live(self, seconds: float) -> None:
        """Let so much time pass. A controller that was killed is followed by another one within a second."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.5)
            await self.revive()
            self._job_controller()
            self._report()

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
        """A user creates an object, or changes its spec."""
        path = f"{root}/{name}"
        found = self.api.objects.get(path, {"metadata": {"name": name, "namespace": NAMESPACE}})
        self.api.put(path, {**found, "spec": spec})
        self._report()

    def remove(self, path: str) -> None:
        """A user deletes an object."""
        del self.api.objects[path]
        self._report()

    # What a test looks at.

    def jobs(self) -> dict[str, str]:
        """Jobs by name with their phase."""
        return {
            job["metadata"]["name"]: job.get("status", {}).get("state", {}).get("phase", "")
            for job in self.of(JOBS).values()
        }

    def status(self, root: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{root}/{name}"].get("status", {})
        return found
