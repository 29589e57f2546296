"""How fast the job controller makes pods: `python benchmarks/job_pods.py [JOBS [REPLICAS]]`.

100 Jobs of 50 pods each on a real API server. Their pods are for a scheduler that is not there, so that only creation
is measured; before it, as many of the same pods are created by a client that does nothing else, 64 at a time. CPU time
is reported as well, since on a machine with other work the rates are a matter of who gets the cores.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import msgspec
import uvloop

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.pods import pod_of
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import daemon_kubeconfig, install
from volcano_py.local.scheduler import SchedulerProcess
from volcano_py.operator.jobs.controller import IN_FLIGHT
from volcano_py.operator.kube_api import job_path, pod_path

NAMESPACES: Final = ("bare", "jobs")
_POLL: Final = 0.05  # seconds
_PATIENCE: Final = 300.0  # seconds


def manifest(number: int, replicas: int) -> dict[str, Any]:
    """One Job; no scheduler takes its pods."""
    container = {"name": "main", "image": "work", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    template = {"spec": {"schedulerName": "unknown", "containers": [container]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": f"job-{number:03d}", "namespace": "jobs"},
        "spec": {"tasks": [{"name": "worker", "replicas": replicas, "template": template}]},
    }


async def count(client: KubernetesClient, namespace: str) -> int:
    """Pods in the namespace."""
    answer = msgspec.json.decode(await client.get(pod_path(namespace), {"limit": 1}))
    return len(answer["items"]) + int(answer["metadata"].get("remainingItemCount", 0))


async def bare(client: KubernetesClient, jobs: int, replicas: int) -> float:
    """Seconds to create the pods and nothing else."""
    body = {**manifest(0, replicas), "metadata": {"name": "x", "namespace": "bare", "uid": "x"}}
    job = with_defaults(msgspec.convert(body, VolcanoJob), JobRules())
    waiting = [f"pod-{number}" for number in range(jobs * replicas)]
    pod = pod_of(job, job.spec.tasks[0], 0)
    del pod["metadata"]["ownerReferences"]

    async def worker() -> None:
        while waiting:
            metadata = {**pod["metadata"], "name": waiting.pop()}
            await client.post(pod_path("bare"), {**pod, "metadata": metadata})

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(worker())
    return time.perf_counter() - started


async def by_jobs(client: KubernetesClient, jobs: int, replicas: int) -> float:
    """Seconds from the first pod to the last, of Jobs that are all submitted at once."""
    started = 0.0
    deadline = time.perf_counter() + _PATIENCE
    async with asyncio.TaskGroup() as group:
        for number in range(jobs):
            group.create_task(client.post(job_path("jobs", ""), manifest(number, replicas)))
        while (there := await count(client, "jobs")) < jobs * replicas:
            now = time.perf_counter()
            if there and not started:
                started = now
            if now > deadline:
                raise TimeoutError(f"{there} of {jobs * replicas} pods after {_PATIENCE:.0f} s")
            await asyncio.sleep(_POLL)
    return time.perf_counter() - started


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used so far, from its 14th and 15th field in proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def main(jobs: int, replicas: int) -> None:
    async with ControlPlane() as control_plane:
        await install(control_plane.kubectl)
        room = {"cpu": str(jobs * replicas), "memory": "100Ti", "pods": "1000"}
        await control_plane.create_nodes(10, allocatable=room)
        for namespace in NAMESPACES:
            await control_plane.kubectl("create", "namespace", namespace)
        async with await KubernetesClient.connect(control_plane.kubeconfig, qps=1e6, burst=10**6) as client:
            await asyncio.sleep(3)  # for the namespaces' service accounts
            total = jobs * replicas
            before = cpu_seconds(os.getpid())
            alone = await bare(client, jobs, replicas)
            spent = (cpu_seconds(os.getpid()) - before) / total
            rate = f"{total / alone:.0f}/s, {spent * 1e3:.2f} ms of CPU a pod in the client"
            print(f"bare: {total} pods in {alone:.2f} s, {rate}")  # noqa: T201
            await client.delete(pod_path("bare"), params={"gracePeriodSeconds": 0})
            with tempfile.TemporaryDirectory() as directory:
                kubeconfig = await daemon_kubeconfig(control_plane)
                daemon = SchedulerProcess("daemon", kubeconfig, Path(directory))
                await daemon.start()
                try:
                    pid = daemon.process.pid
                    assert pid is not None
                    before = cpu_seconds(pid)
                    taken = await by_jobs(client, jobs, replicas)
                    spent = (cpu_seconds(pid) - before) / total
                finally:
                    await daemon.stop()
            rate = f"{total / taken:.0f}/s, {spent * 1e3:.2f} ms of CPU a pod in the daemon"
            print(f"{jobs} jobs: {total} pods in {taken:.2f} s, {rate}")  # noqa: T201
            print(f"ratio: {alone / taken:.2f}")  # noqa: T201


if __name__ == "__main__":
    sizes = [int(each) for each in sys.argv[1:]]
    uvloop.run(main(*(sizes + [100, 50][len(sizes) :])))
