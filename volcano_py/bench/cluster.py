"""The cluster that the schedulers are measured on: one API server, nodes without kubelets, and fast ways to fill it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from volcano_py.api import names
from volcano_py.bench.bare_bindings import bind
from volcano_py.bench.figures import AuditLog, cpu_seconds
from volcano_py.bench.loads.mixed_load import MixedWorkload
from volcano_py.bench.loads.workload import Workload
from volcano_py.bench.logins import all_powerful
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import install
from volcano_py.local.nodes import simulated_node
from volcano_py.local.workdir.layout import Settings
from volcano_py.operator.kube_api import pod_group_path, pod_path

_DELETED_AT_A_TIME = 2_000  # objects; the API server deletes them before it answers, and gives up after a minute
_LOOK_AGAIN = 0.2  # seconds
_LAST_LINES = 2.0  # seconds until the audit log has the last bindings of a scheduler that has ended
_MADE_AT_A_TIME = 64  # objects; more in flight adds nothing


class BenchCluster:
    """Creates, binds and deletes in bulk."""

    def __init__(self, plane: ControlPlane, client: KubernetesClient, kubeconfig: Path) -> None:
        """`kubeconfig` is the client's."""
        self.plane, self.client, self.kubeconfig = plane, client, kubeconfig
        self.audit = AuditLog(plane.audit_log)

    async def create(self, path: ApiPath, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Create objects, many at a time, in about this order."""
        queue = list(reversed(bodies))

        async def worker() -> None:
            while queue:
                await self.client.post(path, queue.pop())

        await asyncio.gather(*(worker() for _ in range(_MADE_AT_A_TIME)))

    async def create_nodes(self, workload: Workload) -> None:
        nodes = [
            simulated_node(f"node-{index:05d}", allocatable=dict(workload.allocatable))  # type: ignore[arg-type]
            for index in range(workload.nodes)
        ]
        await self.create(ApiPath("v1", "nodes"), nodes)

    async def create_mixed_nodes(self, workload: MixedWorkload) -> None:
        """The nodes of the mixed load, and its priorities."""
        await self.create(ApiPath("scheduling.k8s.io/v1", "priorityclasses"), workload.priority_classes())
        await self.create(ApiPath("v1", "nodes"), workload.node_bodies())

    async def create_mixed_pods(self, namespace: str, workload: MixedWorkload, scheduler: str) -> None:
        """Its PodGroups and pods in a namespace of their own."""
        await self.create_namespace(namespace)
        await self.create(pod_group_path(namespace), workload.group_bodies("default"))
        await self.create(pod_path(namespace), workload.pod_bodies(scheduler))

    async def create_pods(
        self, namespace: str, workload: Workload, scheduler: str, *, groups: bool = True, on_nodes: bool = False
    ) -> None:
        """The workload's PodGroups and pods in a namespace of their own; `on_nodes` creates them as bound."""
        await self.create_namespace(namespace)
        gangs = -(-workload.pods // workload.gang)
        if groups:
            await self.create(pod_group_path(namespace), [_group(index, workload) for index in range(gangs)])
        pods = [_pod(index, workload, scheduler, groups=groups) for index in range(workload.pods)]
        if on_nodes:
            for index, pod in enumerate(pods):
                pod["spec"]["nodeName"] = f"node-{index % workload.nodes:05d}"
        await self.create(pod_path(namespace), pods)

    async def create_gang(self, namespace: str, index: int, workload: Workload, scheduler: str) -> None:
        """One gang of the workload."""
        await self.create(pod_group_path(namespace), [_group(index, workload)])
        first = index * workload.gang
        pods = [_pod(first + member, workload, scheduler, groups=True) for member in range(workload.gang)]
        await self.create(pod_path(namespace), pods)

    async def create_namespace(self, namespace: str) -> None:
        await self.create(ApiPath("v1", "namespaces"), [{"metadata": {"name": namespace}}])

    async def bind_all(self, namespace: str, workload: Workload) -> float:
        """Bare bindings of all the pods, as fast as the API server takes them; seconds it took."""
        bindings = (
            (namespace, _pod_name(index, workload), f"node-{index % workload.nodes:05d}")
            for index in range(workload.pods)
        )
        started = time.perf_counter()
        await bind(self.client, bindings)
        return time.perf_counter() - started

    async def wait_bound(
        self,
        namespace: str,
        count: int,
        seconds: float,
        *,
        running: Callable[[], bool] = lambda: True,
        quiet: float | None = None,
    ) -> bool:
        """Wait until this many pods are bound; False after `seconds`, once the scheduler is no longer `running`, or
        once it has bound something and then nothing for `quiet` seconds."""
        deadline = time.monotonic() + seconds
        so_far, settled = 0, deadline
        while (bound := self.audit.bound(namespace)) < count:
            if bound != so_far and quiet is not None:
                so_far, settled = bound, time.monotonic() + quiet
            if time.monotonic() >= min(deadline, settled):
                return False
            if not running():
                deadline = min(deadline, time.monotonic() + _LAST_LINES)
            await asyncio.sleep(_LOOK_AGAIN)
        return True

    def server_cpu_seconds(self) -> float:
        """What the API server and etcd have used so far."""
        return sum(cpu_seconds(process.pid) for process in self.plane.processes.values() if process.pid is not None)

    async def clear(self, namespace: str) -> None:
        """Delete the pods and PodGroups, and wait until they are gone."""
        await self._delete_all(pod_path(namespace))
        try:
            await self._delete_all(pod_group_path(namespace))
        except NotFoundError:
            return

    async def _delete_all(self, path: ApiPath) -> None:
        grace, limit = {"gracePeriodSeconds": 0}, {"limit": _DELETED_AT_A_TIME}
        while True:
            deleted = orjson.loads(await self.client.delete(path, grace, limit))
            if not deleted["metadata"].get("continue"):
                return


@asynccontextmanager
async def bench_cluster() -> AsyncIterator[BenchCluster]:
    """Without controllers and kubelets, so that only scheduling costs; without the API server's own throttling."""
    settings = Settings(
        audit_log=True,
        controllers=(),
        simulate_nodes=False,
        apiserver_flags=(
            "--enable-priority-and-fairness=false",
            # By default 1: 4,000 pods are deleted in 22 s, and in 6 s by 32.
            "--delete-collection-workers=32",
            "--max-requests-inflight=0",
            # By default 200. kube-scheduler sends more at once: up to 2,300 of its 7,300 bindings were put off.
            "--max-mutating-requests-inflight=0",
        ),
    )
    async with ControlPlane(settings=settings) as plane:
        await install(plane.kubectl)
        kubeconfig = await all_powerful(plane)
        async with await KubernetesClient.connect(kubeconfig, qps=100_000, burst=100_000) as client:
            yield BenchCluster(plane, client, kubeconfig)


def _pod_name(index: int, workload: Workload) -> str:
    return f"gang-{index // workload.gang:06d}-{index % workload.gang}"


def _group(index: int, workload: Workload) -> dict[str, Any]:
    return {
        "apiVersion": names.SCHEDULING_API,
        "kind": "PodGroup",
        "metadata": {"name": f"gang-{index:06d}"},
        "spec": {"minMember": min(workload.gang, workload.pods - index * workload.gang), "queue": "default"},
    }


def _pod(index: int, workload: Workload, scheduler: str, *, groups: bool) -> dict[str, Any]:
    annotations = {names.GROUP_NAME: f"gang-{index // workload.gang:06d}"} if groups else {}
    return {
        "metadata": {"name": _pod_name(index, workload), "annotations": annotations},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "main", "image": "bench", "resources": {"requests": dict(workload.request)}},
            ],
        },
    }
