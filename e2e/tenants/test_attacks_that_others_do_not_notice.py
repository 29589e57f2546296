"""Whatever one tenant tries, others' pods stay, others' new pods are bound, and the attacker gets a message that says
what is wrong.

Strangers create pods next to the victim's while the attack goes on, and after it. The table after the tests shows how
long these waited for their nodes, how many pods were lost, and the attackers' messages.
"""

from __future__ import annotations

import asyncio
import math
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon, daemon_kubeconfig
from e2e.harness.install import LEASE_PATH
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang
from e2e.harness.tenant import Tenant, tenant_of
from e2e.tenants.attacks import ATTACKS, Attack, Stage
from e2e.tenants.conftest import Row, record
from e2e.tenants.strangers import LONGEST_WAIT, standing, wait_for_node
from volcano_py.local.client import APIError
from volcano_py.local.nodes import create_nodes

POOL = "e2e.volcano-py/arena"

_AFTERWARDS = 3  # strangers that come after the last request of an attack

PLURALS = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Service": "/api/v1/namespaces/{}/services",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
    "Job": "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs",
    "CronJob": "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/cronjobs",
    "JobFlow": "/apis/flow.volcano.sh/v1alpha1/namespaces/{}/jobflows",
}


@dataclass
class Arena:
    """A daemon, a few nodes, and a victim with a gang that runs."""

    cluster: Cluster
    daemon: Daemon
    victim: Namespace
    stage: Stage
    strangers: int = 0

    async def transitions(self) -> int:
        lease = await self.cluster.client.get(LEASE_PATH)
        return int(lease["spec"].get("leaseTransitions") or 0)

    async def bind_a_stranger(self) -> float:
        """Seconds that the pod of a stranger waits for its node."""
        self.strangers += 1
        pod = self.stage.pod(f"stranger-{self.strangers}", labels={"role": "stranger"})
        return await wait_for_node(self.cluster.client, self.victim.name, pod)

    async def remove_strangers(self) -> None:
        pods = f"/api/v1/namespaces/{self.victim.name}/pods"
        await self.cluster.client.delete(pods, {"gracePeriodSeconds": 0}, labelSelector="role=stranger")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def arena(installed: Cluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Arena]:
    directory = tmp_path_factory.mktemp("arena")
    selector = {POOL: secrets.token_hex(3)}
    nodes = await create_nodes(
        installed.client, 4, allocatable={"cpu": "16", "memory": "64Gi"}, labels=selector, name_format="arena-{:03d}"
    )
    daemon = Daemon("arena", await daemon_kubeconfig(installed, directory / "daemon.kubeconfig"), directory)
    victim = Namespace(installed, f"victim-{secrets.token_hex(3)}")
    installed.diagnostics.append(daemon.diagnosis)
    try:
        await daemon.start()
        await daemon.wait_leading()
        await victim.create()
        await victim.apply(gang("bystander", 3, node_selector=selector, labels={"app": "bystander"}))
        await victim.wait_phases(Running=3)
        yield Arena(installed, daemon, victim, Stage(victim.name, selector))
    finally:
        installed.diagnostics.clear()
        await victim.remove()
        await daemon.stop()
        for node in nodes:
            await installed.delete(f"/api/v1/nodes/{node}")
        await installed.delete(LEASE_PATH)


@pytest_asyncio.fixture(loop_scope="session")
async def attacker(arena: Arena, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Tenant]:
    namespace = Namespace(arena.cluster, f"attacker-{secrets.token_hex(3)}")
    await namespace.create()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(namespace.remove)
        yield await stack.enter_async_context(tenant_of(namespace, tmp_path_factory.mktemp("attacker")))


async def strike(attack: Attack, attacker: Tenant, stage: Stage) -> list[str]:
    """Carry the attack out; what the API server refused."""
    refused = []
    for each in attack.objects(stage):
        try:
            await attacker.client.create(PLURALS[each["kind"]].format(attacker.name), each)
        except APIError as error:
            if error.status >= 500:
                raise
            refused.append(str(error))
    if attack.then is not None:
        await attack.then(attacker)
    return refused


async def reported(attacker: Tenant) -> list[str]:
    """Everything that the attacker can read about its objects: conditions, and events."""
    name, client = attacker.name, attacker.client
    found: list[str] = []
    for path in PLURALS.values():
        for item in (await client.get(path.format(name)))["items"]:
            found += _conditions(item)
    events = (await client.get(f"/api/v1/namespaces/{name}/events"))["items"]
    return found + [f"{event['reason']}: {event['message']}" for event in events if event["type"] == "Warning"]


def _conditions(item: Object) -> list[str]:
    status: dict[str, Any] = item.get("status") or {}
    state = [status["state"]] if isinstance(status.get("state"), dict) else []
    return [
        f"{each.get('reason', '')}: {each['message']}"
        for each in [*(status.get("conditions") or ()), *state]
        if each.get("message")
    ]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "-"))
async def test_others_notice_nothing(
    attack: Attack, arena: Arena, attacker: Tenant, request: pytest.FixtureRequest
) -> None:
    before, transitions = await standing(arena.victim), await arena.transitions()
    async with asyncio.TaskGroup() as tasks:
        striking = tasks.create_task(strike(attack, attacker, arena.stage))
        waits = [await arena.bind_a_stranger()]
        while not striking.done():
            waits.append(await arena.bind_a_stranger())
    waits += [await arena.bind_a_stranger() for _ in range(_AFTERWARDS)]
    refused = striking.result()
    heard = list(refused)

    async def attacker_is_reported() -> str:
        heard[len(refused) :] = await reported(attacker)
        matches = [text[match.start() :] for text in heard if (match := re.search(attack.reported, text))]
        assert matches, heard[:5]
        return matches[0]

    answer = (
        await arena.cluster.eventually("the attack is reported to the attacker", attacker_is_reported)
        if attack.reported
        else ""
    )
    lost = before + sum(map(math.isfinite, waits)) - await standing(arena.victim)
    record(request.config, Row(attack.name, waits, lost, answer))
    await arena.remove_strangers()
    assert max(waits) <= LONGEST_WAIT, f"{waits}\n{arena.daemon.diagnosis()}"
    assert lost == 0, arena.daemon.diagnosis()
    assert attack.reported or not refused, refused[:5]
    assert arena.daemon.process.running
    assert await arena.transitions() == transitions
    assert await arena.daemon.metric("volcano_state_drift") == 0
    assert (await arena.daemon.get("/healthz"))[0] == 200
