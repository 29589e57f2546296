"""What the API server has agreed to, by replica: who has the Lease, and who binds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise

import orjson

from e2e.faults.injection.plans import Call, is_binding
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.install import LEASE


@dataclass
class Journal:
    """What the API server has agreed to: who has the Lease from when on, and who bound when."""

    leaders: list[tuple[float, str]] = field(default_factory=list)
    """(when the answer was there, replica); "" when it was given back."""
    bindings: list[tuple[float, str, str]] = field(default_factory=list)
    """(when it was sent, replica, pod)"""
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    def listen(self, replica: str, proxy: FaultProxy) -> None:
        """Write down what this replica does through its proxy."""

        def heard(call: Call, status: int, body: bytes, sent: float) -> None:
            if status >= 300:
                return
            if is_binding(call):
                self.bindings.append((sent, replica, f"{call.namespace}/{call.name}"))
            elif call.resource == "leases" and call.verb in ("create", "patch"):
                lease = orjson.loads(body)
                if lease["metadata"]["name"] == LEASE:
                    self._took(replica, lease["spec"].get("holderIdentity") or "")

        proxy.listeners.append(heard)

    def _took(self, replica: str, identity: str) -> None:
        leader = replica if identity else ""
        if not self.leaders or self.leaders[-1][1] != leader:
            self.leaders.append((asyncio.get_running_loop().time(), leader))
            self._change.set()

    @property
    def changes(self) -> int:
        """How often another replica has become the leader."""
        leaders = [leader for _, leader in self.leaders if leader]
        return sum(1 for before, after in pairwise(leaders) if before != after)

    async def until_changed(self, times: int) -> None:
        """Return when there have been so many changes."""
        while self.changes < times:
            self._change.clear()
            await self._change.wait()

    def usurped(self) -> list[str]:
        """Bindings that were sent while the Lease was the other replica's for certain."""
        found = []
        for sent, replica, pod in self.bindings:
            leader = next((leader for moment, leader in reversed(self.leaders) if moment < sent), "")
            if leader not in ("", replica):
                found.append(f"{pod} was bound by {replica} while {leader} had the Lease")
        return found
