"""`--load tenants`: what strangers notice while one tenant attacks, on a real API server, with real rights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import yaml

from volcano_py.api.names import SYSTEM_NAMESPACE
from volcano_py.bench.figures import AuditLog
from volcano_py.bench.loads.attacks import ATTACKS, Attack, Manifest
from volcano_py.bench.loads.controls import without_scheduler
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
    """One attack. `control` is like `during`, but the attack's pods belong to a scheduler that does not run. `steady`
    goes on with the attack once the scheduler has written all that it writes about its objects at first, which was
    `settling` seconds after the attack's first request, and the API server made `edits_per_second` of the attack's
    edits. It refused `refused` of the attacker's requests."""

    attack: str
    title: str
    before: Phase
    control: Phase
    during: Phase
    steady: Phase
    after: Phase
    settling: float
    edits_per_second: float
    refused: int
    lease_transitions: int
    restarts: int

    def __str__(self) -> str:
        figures = ", ".join(
            f"{probe} p90 {self.during.latency[probe].p90:.2f} s ({self.times(probe):.1f} x,"
            f" {self.times_control(probe):.1f} x control), steady {self.steady.latency[probe].p90:.2f} s"
            for probe in PROBES
        )
        return f"{self.attack}: {figures}, Lease lost {self.lease_transitions} times"

    def times(self, probe: str) -> float:
        """The 90th percentile during the attack by that before it."""
        return self._times(probe, self.before)

    def times_control(self, probe: str) -> float:
        """The 90th percentile during the attack by that with the same objects of another scheduler."""
        return self._times(probe, self.control)

    def _times(self, probe: str, base: Phase) -> float:
        usual = base.latency[probe].p90
        return self.during.latency[probe].p90 / usual if usual else 0.0

    def phases(self) -> dict[str, Phase]:
        return {
            "before": self.before,
            "control": self.control,
            "during": self.during,
            "steady": self.steady,
            "after": self.after,
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "attack": self.attack,
            "title": self.title,
            **{name: phase.as_json() for name, phase in self.phases().items()},
            "settling_seconds": self.settling,
            "edits_per_second": self.edits_per_second,
            "times_as_long": {probe: self.times(probe) for probe in PROBES},
            "times_as_long_as_control": {probe: self.times_control(probe) for probe in PROBES},
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
    """Attack after attack. Probes are sent for `seconds` before it, while the objects of its control are created and
    `seconds` longer, the same with the attack itself, for `seconds` in the steady state, and for `seconds` after it was
    cleared away, which is before the next one. `report` gets a line for each."""
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
            control = await _control(name, plane, strangers, nodes, seconds)
            attacker = await stack.enter_async_context(tenant(plane, f"attacker-{name}"))
            measured.append(await _measure(name, attacker, strangers, audit, running, nodes, seconds, quiet, control))
            quiet = measured[-1].after
            report(str(measured[-1]))
        return measured


async def _control(name: str, plane: ControlPlane, strangers: Strangers, nodes: int, seconds: float) -> Phase:
    """What strangers notice of the attack's objects alone, which no scheduler reads."""
    attack = ATTACKS[name]
    objects = chain.from_iterable(map(without_scheduler, attack.objects(nodes)))
    async with tenant(plane, f"control-{name}") as owner:
        async with _attacking(attack, objects, owner) as made:
            phase = await strangers.phase(seconds, made)
        await _clear(owner, strangers)
    return phase


async def _measure(
    name: str,
    attacker: Tenant,
    strangers: Strangers,
    audit: AuditLog,
    running: Replicas,
    nodes: int,
    seconds: float,
    before: Phase,
    control: Phase,
) -> Measured:
    restarts, transitions = running.restarts, await running.lease_transitions()
    attack, started = ATTACKS[name], time.time()
    async with _attacking(attack, attack.objects(nodes), attacker) as made:
        during = await strangers.phase(seconds, made)
        settled_at = await settled(audit, attacker.namespace)
        edited, since = attacker.edited, time.monotonic()
        steady = await strangers.phase(seconds)
        edits_per_second = (attacker.edited - edited) / (time.monotonic() - since)
    await _clear(attacker, strangers)
    after = await strangers.phase(seconds)
    await strangers.clear()
    return Measured(
        attack=name,
        title=attack.title,
        before=before,
        control=control,
        during=during,
        steady=steady,
        after=after,
        settling=max(0.0, settled_at - started),
        edits_per_second=edits_per_second,
        refused=attacker.refused,
        lease_transitions=await running.lease_transitions() - transitions,
        restarts=running.restarts - restarts,
    )


async def _clear(attacker: Tenant, strangers: Strangers) -> None:
    await attacker.clear()
    await strangers.clear()
    await asyncio.sleep(_SETTLE)


async def settled(audit: AuditLog, namespace: str) -> float:
    """Wait until the scheduler has written about all objects of the namespace. Returns when it did, in seconds since
    the epoch."""
    looks = round(_SETTLED_WITHIN / _LOOK_AGAIN)
    for _ in range(looks):
        if time.time() - audit.last_first_write(namespace) >= _STILL_FOR:
            break
        await asyncio.sleep(_LOOK_AGAIN)
    return audit.last_first_write(namespace)


@asynccontextmanager
async def _attacking(attack: Attack, objects: Iterable[Manifest], attacker: Tenant) -> AsyncIterator[asyncio.Event]:
    """Attack for as long as the block lasts. The event is set when all objects have been created."""
    made = asyncio.Event()

    async def attacking() -> None:
        try:
            await attacker.create(objects)
        finally:
            made.set()
        if attack.edits is not None:
            await attacker.edit(attack.edits(), attack.edits_per_second)

    task = asyncio.create_task(attacking(), name=f"attack of {attacker.namespace}")
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
