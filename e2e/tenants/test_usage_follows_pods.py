"""A queue of 4 cpu runs 4 pods of a tenant. With nothing but its own rights the tenant tries to run 4 more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import pytest
import pytest_asyncio

from e2e.conftest import NodePool, SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.objects import pod, pod_group, queue
from e2e.harness.tenant import Tenant
from volcano_py.api.names import CHARGED_QUEUE, GROUP_NAME
from volcano_py.local.client import APIError

_QUEUE: Final = "ceiling"
_OTHER: Final = "elsewhere"
_HOLD: Final = "tenant.example/hold"
"""A finalizer: the simulated kubelets end pods at once, however long their grace period."""
_YEAR: Final = 365 * 24 * 3600
_GROUPS: Final = ("deleted", "moved", "leaving", "edited")
_POLICY: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/volcano-py-charged-queue"

CreateQueues = Callable[..., Awaitable[None]]


class Attack:
    """4 PodGroups of one pod of 1 cpu each, called as what their tenant does to them."""

    def __init__(self, tenant: Tenant, pool: NodePool) -> None:
        self._tenant = tenant
        self._pool = pool
        namespace = tenant.name
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._groups = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups"

    async def fill(self) -> None:
        """Run the 4."""
        for name in _GROUPS:
            await self._tenant.apply(pod_group(name, 1, queue=_QUEUE), self._pod(name, name))
        await self._tenant.namespace.wait_phases(Running=4)

    async def escape(self) -> None:
        """What a tenant may do whatever is admitted."""
        client = self._tenant.client
        await client.delete(f"{self._groups}/deleted")
        await client.merge_patch(f"{self._groups}/moved", {"spec": {"queue": _OTHER}})
        await client.delete(f"{self._pods}/leaving", {"gracePeriodSeconds": _YEAR})

    async def annotate(self, **annotations: str | None) -> None:
        """Edit the annotations of the pod that is called so."""
        await self._patch("edited", {"annotations": annotations})

    async def let_go(self) -> None:
        """The pod that is leaving is gone."""
        await self._patch("leaving", {"finalizers": None})

    async def run_more(self) -> None:
        """Ask for 4 more; every one of them gets a message that it waits."""
        more = [self._pod(f"more-{number}", "more") for number in range(4)]
        await self._tenant.apply(pod_group("more", 1, queue=_QUEUE), *more)
        for number in range(4):
            await self._tenant.namespace.wait_reported(f"more-{number}", saying="OverCapability")

    async def running(self) -> list[str]:
        """Names of the pods that have a node."""
        return [each.name for each in await self._tenant.namespace.pods() if each.node]

    async def _patch(self, name: str, metadata: dict[str, Any]) -> None:
        await self._tenant.client.merge_patch(f"{self._pods}/{name}", {"metadata": metadata})

    def _pod(self, name: str, group: str) -> dict[str, Any]:
        made = pod(name, group=group, node_selector=self._pool.selector)
        if name == "leaving":
            made["metadata"]["finalizers"] = [_HOLD]
        return made


@pytest_asyncio.fixture(loop_scope="session")
async def attack(attacker: Tenant, simulated_nodes: SimulatedNodes) -> AsyncIterator[Attack]:
    """On nodes with room for all."""
    made = Attack(attacker, await simulated_nodes(1, cpu="16"))
    yield made
    if any(each.name == "leaving" for each in await attacker.namespace.pods()):
        await made.let_go()


@pytest_asyncio.fixture(loop_scope="session")
async def without_policy(installed: Cluster) -> AsyncIterator[None]:
    """As on a cluster that does not keep annotations: the policy is in force nowhere."""
    binding = await installed.client.get(_POLICY)
    await installed.delete(_POLICY)
    yield
    del binding["metadata"]["resourceVersion"], binding["metadata"]["uid"]
    binding["metadata"].pop("managedFields", None)
    await installed.apply([binding])


async def test_no_escape_from_a_ceiling_and_none_by_a_restart(
    start_daemon: StartDaemon, create_queues: CreateQueues, attack: Attack, attacker: Tenant
) -> None:
    daemon = await start_daemon()
    await _queues(create_queues)
    await attack.fill()
    await attack.escape()
    edits = ({CHARGED_QUEUE: _OTHER}, {CHARGED_QUEUE: None}, {GROUP_NAME: "moved"}, {GROUP_NAME: None})
    for edit in edits:
        with pytest.raises(APIError, match=rf"403.*{next(iter(edit))}"):
            await attack.annotate(**edit)
    with pytest.raises(APIError, match=rf"403.*{CHARGED_QUEUE}"):
        await _create_charged(attacker)
    await daemon.stop()
    restarted = await start_daemon()
    await attack.run_more()
    assert sorted(await attack.running()) == sorted(_GROUPS)
    await _charged(restarted, {_QUEUE: 4.0, _OTHER: 0.0})

    await attack.let_go()
    await attacker.namespace.wait_phases(Running=4, Pending=3)
    await _charged(restarted, {_QUEUE: 4.0, _OTHER: 0.0})


@pytest.mark.usefixtures("without_policy")
async def test_without_the_policy_what_the_daemon_has_seen_counts(
    daemon: Daemon, create_queues: CreateQueues, attack: Attack, installed: Cluster
) -> None:
    await _queues(create_queues)
    await attack.fill()

    async def unguarded() -> None:
        await attack.annotate(**{CHARGED_QUEUE: _OTHER, GROUP_NAME: None})

    await installed.eventually("the policy is no longer in force", unguarded)
    await attack.escape()
    await attack.run_more()
    assert sorted(await attack.running()) == sorted(_GROUPS)
    await _charged(daemon, {_QUEUE: 4.0, _OTHER: 0.0})


async def test_a_job_cannot_say_what_its_pods_are_charged_to(
    daemon: Daemon, create_queues: CreateQueues, attacker: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    """The daemon makes a job's pods, with rights that its author does not have."""
    pool = await simulated_nodes(1)
    await _queues(create_queues)
    template = pod("unused", annotations={CHARGED_QUEUE: _OTHER}, node_selector=pool.selector, nodeName=pool.names[0])
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "forger"},
        "spec": {
            "queue": _QUEUE,
            "minAvailable": 1,
            "tasks": [
                {
                    "name": "t",
                    "replicas": 1,
                    "template": {"metadata": template["metadata"] | {"name": ""}, "spec": template["spec"]},
                }
            ],
        },
    }
    await attacker.apply(job)
    (made,) = await attacker.namespace.wait_phases(Running=1)
    assert CHARGED_QUEUE not in made.annotations
    await _charged(daemon, {_QUEUE: 1.0, _OTHER: 0.0})


async def _queues(create_queues: CreateQueues) -> None:
    await create_queues(queue(_QUEUE, capability={"cpu": "4"}), queue(_OTHER))


async def _create_charged(tenant: Tenant) -> None:
    forged = pod("forged", annotations={CHARGED_QUEUE: _OTHER})
    await tenant.client.create(f"/api/v1/namespaces/{tenant.name}/pods", forged)


async def _charged(daemon: Daemon, cpus: dict[str, float]) -> None:
    """Wait until the metrics say that so much is charged to these queues."""
    for name, cpu in cpus.items():
        await daemon.wait_metric("volcano_queue_allocated_milli_cpu", cpu * 1000, queue_name=name)
