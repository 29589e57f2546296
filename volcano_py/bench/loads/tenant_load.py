"""`--load tenants`: what strangers notice while one tenant attacks, on a real API server, with real rights."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import yaml

from volcano_py.bench.figures import AuditLog
from volcano_py.bench.loads.attacks import ATTACKS, Attack
from volcano_py.bench.news import news_of
from volcano_py.bench.priority import PRIORITY
from volcano_py.bench.replicas import Replicas, replicas
from volcano_py.bench.strangers import PROBES, Phase, Strangers
from volcano_py.bench.tenants import Tenant, tenant
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import install
from volcano_py.local.workdir.layout import Settings

TENANTS: Final = "tenants"

_STRANGERS: Final = "strangers"
_SETTLE: Final = 5.0  # seconds until what was deleted is out of every memory
# What tenants need: the rules of `edit`, and a service account for pods.
_CONTROLLERS: Final = ("clusterrole-aggregation-controller", "serviceaccount-controller")


@dataclass(frozen=True, slots=True)
class Measured:
    """One attack. `lasting` is the part of `during` in which all objects had been created. `refused` is how many of the
    attacker's requests the API server refused."""

    attack: str
    title: str
    before: Phase
    during: Phase
    lasting: Phase
    after: Phase
    refused: int
    lease_transitions: int
    restarts: int

    def __str__(self) -> str:
        figures = ", ".join(
            f"{probe} p90 {self.during.latency[probe].p90:.2f} s ({self.times(probe):.1f} x)" for probe in PROBES
        )
        return f"{self.attack}: {figures}, Lease lost {self.lease_transitions} times"

    def times(self, probe: str) -> float:
        """The 90th percentile during the attack by that before it."""
        before, during = self.before.latency[probe].p90, self.during.latency[probe].p90
        return during / before if before else 0.0

    def phases(self) -> dict[str, Phase]:
        return {"before": self.before, "during": self.during, "after": self.after}

    def as_json(self) -> dict[str, Any]:
        return {
            "attack": self.attack,
            "title": self.title,
            **{name: phase.as_json() for name, phase in self.phases().items()},
            "lasting": self.lasting.as_json(),
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
    and for `seconds` after it was cleared away, which is before the next one. `report` gets a line for each."""
    settings = Settings(audit_log=True, controllers=_CONTROLLERS)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(ControlPlane(settings=settings))
        await install(plane.kubectl)
        await plane.create_nodes(nodes)
        running = await stack.enter_async_context(replicas(plane))
        await plane.kubectl.apply(yaml.safe_dump_all(PRIORITY))
        tenant_of_others = await stack.enter_async_context(tenant(plane, _STRANGERS))
        news = await stack.enter_async_context(news_of(plane.client, _STRANGERS))
        strangers = Strangers(tenant_of_others, AuditLog(plane.audit_log), news)
        await strangers.phase(_SETTLE)  # what is slow the first time is not measured
        measured: list[Measured] = []
        quiet, _ = await strangers.phase(seconds)
        for name in attacks:
            attacker = await stack.enter_async_context(tenant(plane, f"attacker-{name}"))
            measured.append(await _measure(name, attacker, strangers, running, nodes, seconds, quiet))
            quiet = measured[-1].after
            report(str(measured[-1]))
        return measured


async def _measure(
    name: str, attacker: Tenant, strangers: Strangers, running: Replicas, nodes: int, seconds: float, before: Phase
) -> Measured:
    restarts, transitions = running.restarts, await running.lease_transitions()
    made = asyncio.Event()
    attacking = asyncio.create_task(_attack(ATTACKS[name], attacker, nodes, made), name=f"attack {name}")
    try:
        during, lasting = await strangers.phase(seconds, made)
    finally:
        attacking.cancel()
        await asyncio.gather(attacking, return_exceptions=True)
    await attacker.clear()
    await strangers.clear()
    await asyncio.sleep(_SETTLE)
    after, _ = await strangers.phase(seconds)
    await strangers.clear()
    return Measured(
        attack=name,
        title=ATTACKS[name].title,
        before=before,
        during=during,
        lasting=lasting,
        after=after,
        refused=attacker.refused,
        lease_transitions=await running.lease_transitions() - transitions,
        restarts=running.restarts - restarts,
    )


async def _attack(attack: Attack, attacker: Tenant, nodes: int, made: asyncio.Event) -> None:
    """Attack until cancelled; `made` is set when all objects have been created."""
    try:
        await attacker.create(attack.objects(nodes))
    finally:
        made.set()
    if attack.edits is not None:
        await attacker.edit(attack.edits(), attack.edits_per_second)
