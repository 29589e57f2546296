"""`--load tenants`: what strangers notice while one tenant attacks, on a real API server, with real rights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import yaml

from volcano_py.api.names import SYSTEM_NAMESPACE
from volcano_py.bench.figures import AuditLog
from volcano_py.bench.loads.attacks import ATTACKS, Attack
from volcano_py.bench.news import news_of
from volcano_py.bench.priority import PRIORITY
from volcano_py.bench.replicas import Replicas, replicas
from volcano_py.bench.strangers import PROBES, Phase, Strangers
from volcano_py.bench.tenants import Tenant, tenant
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import SERVICE_ACCOUNT, install
from volcano_py.local.workdir.layout import Settings

TENANTS: Final = "tenants"

_STRANGERS: Final = "strangers"
_SETTLE: Final = 5.0  # seconds until what was deleted is out of every memory
_STILL_FOR: Final = 2.0  # seconds without a first write of the scheduler, after which all of them count as done
_SETTLED_WITHIN: Final = 300.0  # seconds; an attack whose objects are never done with is measured as it is then
_LOOK_AGAIN: Final = 0.5  # seconds
_WRITER: Final = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{SERVICE_ACCOUNT}"
# What tenants need: the rules of `edit`, and a service account for pods.
_CONTROLLERS: Final = ("clusterrole-aggregation-controller", "serviceaccount-controller")


@dataclass(frozen=True, slots=True)
class Measured:
    """One attack. `steady` goes on with it once the scheduler has written all that it writes about its objects at
    first, which was `settling` seconds after the attack's first request. `refused` is how many of the attacker's
    requests the API server refused."""

    attack: str
    title: str
    before: Phase
    during: Phase
    steady: Phase
    after: Phase
    settling: float
    refused: int
    lease_transitions: int
    restarts: int

    def __str__(self) -> str:
        figures = ", ".join(
            f"{probe} p90 {self.during.latency[probe].p90:.2f} s ({self.times(probe):.1f} x),"
            f" steady {self.steady.latency[probe].p90:.2f} s"
            for probe in PROBES
        )
        return f"{self.attack}: {figures}, Lease lost {self.lease_transitions} times"

    def times(self, probe: str) -> float:
        """The 90th percentile during the attack by that before it."""
        before, during = self.before.latency[probe].p90, self.during.latency[probe].p90
        return during / before if before else 0.0

    def phases(self) -> dict[str, Phase]:
        return {"before": self.before, "during": self.during, "steady": self.steady, "after": self.after}

    def as_json(self) -> dict[str, Any]:
        return {
            "attack": self.attack,
            "title": self.title,
            **{name: phase.as_json() for name, phase in self.phases().items()},
            "settling_seconds": self.settling,
            "times_as_long": {probe: self.times(probe) for probe in PROBES},
            "refused_requests": self.refused,
            "lease_transitions": self.lease_transitions,
            "restarts": self.restarts,
        }


async def measure_tenants(
    attacks: Sequence[str],
    *,
    nodes: int,
    seconds: float,
    report: Callable[[str], None] = lambda line: None,  # noqa: ARG005 - the type's signature
) -> list[Measured]:
    """Attack after attack. Probes are sent for `seconds` before it, while its objects are created and `seconds` longer,
    for `seconds` in the steady state, and for `seconds` after it was cleared away, which is before the next one.
    `report` gets a line for each."""
    settings = Settings(audit_log=True, audited_users=(_WRITER,), controllers=_CONTROLLERS)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(ControlPlane(settings=settings))
        await install(plane.kubectl)
        await plane.create_nodes(nodes)
        running = await stack.enter_async_context(replicas(plane))
        await plane.kubectl.apply(yaml.safe_dump_all(PRIORITY))
        tenant_of_others = await stack.enter_async_context(tenant(plane, _STRANGERS))
        news = await stack.enter_async_context(news_of(plane.client, _STRANGERS))
        audit = AuditLog(plane.audit_log, _WRITER)
        strangers = Strangers(tenant_of_others, audit, news)
        await strangers.phase(_SETTLE)  # what is slow the first time is not measured
        measured: list[Measured] = []
        quiet = await strangers.phase(seconds)
        for name in attacks:
            attacker = await stack.enter_async_context(tenant(plane, f"attacker-{name}"))
            measured.append(await _measure(name, attacker, strangers, audit, running, nodes, seconds, quiet))
            quiet = measured[-1].after
            report(str(measured[-1]))
        return measured


async def _measure(
    name: str,
    attacker: Tenant,
    strangers: Strangers,
    audit: AuditLog,
    running: Replicas,
    nodes: int,
    seconds: float,
    before: Phase,
) -> Measured:
    restarts, transitions = running.restarts, await running.lease_transitions()
    made, started = asyncio.Event(), time.time()
    attacking = asyncio.create_task(_attack(ATTACKS[name], attacker, nodes, made), name=f"attack {name}")
    try:
        during = await strangers.phase(seconds, made)
        settled_at = await settled(audit, attacker.namespace)
        steady = await strangers.phase(seconds)
    finally:
        attacking.cancel()
        await asyncio.gather(attacking, return_exceptions=True)
    await attacker.clear()
    await strangers.clear()
    await asyncio.sleep(_SETTLE)
    after = await strangers.phase(seconds)
    await strangers.clear()
    return Measured(
        attack=name,
        title=ATTACKS[name].title,
        before=before,
        during=during,
        steady=steady,
        after=after,
        settling=max(0.0, settled_at - started),
        refused=attacker.refused,
        lease_transitions=await running.lease_transitions() - transitions,
        restarts=running.restarts - restarts,
    )


async def settled(audit: AuditLog, namespace: str) -> float:
    """Wait until the scheduler has written about all objects of the namespace. Returns when it did, in seconds since
    the epoch."""
    looks = round(_SETTLED_WITHIN / _LOOK_AGAIN)
    for _ in range(looks):
        if time.time() - audit.last_first_write(namespace) >= _STILL_FOR:
            break
        await asyncio.sleep(_LOOK_AGAIN)
    return audit.last_first_write(namespace)


async def _attack(attack: Attack, attacker: Tenant, nodes: int, made: asyncio.Event) -> None:
    """Attack until cancelled; `made` is set when all objects have been created."""
    try:
        await attacker.create(attack.objects(nodes))
    finally:
        made.set()
    if attack.edits is not None:
        await attacker.edit(attack.edits(), attack.edits_per_second)
