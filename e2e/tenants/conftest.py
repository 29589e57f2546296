"""Tenants: each has a namespace and a token with the rights of `edit` there, and tries to get more."""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.tenant import Tenant, tenant_of

CreateTenant = Callable[[], Awaitable[Tenant]]

_ROWS = pytest.StashKey[list["Row"]]()

_WIDTH = 110  # of the attackers' messages, in the table


@dataclass(frozen=True)
class Row:
    """What others noticed of an attack, and what was reported to the attacker.

    `waits` are the seconds that each new pod of others waited for its node, infinite if it got none; `lost` is how many
    pods of others were evicted or ended.
    """

    attack: str
    waits: Sequence[float]
    lost: int
    reported: str


def record(config: pytest.Config, row: Row) -> None:
    """Print this row after all tests."""
    config.stash.setdefault(_ROWS, []).append(row)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what others noticed of the attacks, and the attackers' messages."""
    rows = config.stash.get(_ROWS, [])
    if rows:
        terminalreporter.section("what others noticed of attacks, and what was reported to the attacker", sep="-")
        terminalreporter.write_line(f"{'longest':>9}  {'bound':>7}  {'lost':>4}  {'attack':58}  reported")
    for row in rows:
        bound = f"{sum(map(math.isfinite, row.waits))}/{len(row.waits)}"
        reported = " ".join(row.reported.split())[:_WIDTH] or "-"
        terminalreporter.write_line(f"{max(row.waits):7.3f} s  {bound:>7}  {row.lost:4}  {row.attack:58}  {reported}")


# The pods of tenants must be gone before their nodes and queues are, so it is set up after those.
@pytest_asyncio.fixture(loop_scope="session")
async def create_tenant(
    installed: Cluster, simulated_nodes: SimulatedNodes, create_queues: object, tmp_path: Path
) -> AsyncIterator[CreateTenant]:
    """Create tenants; their namespaces are deleted after the test."""
    async with AsyncExitStack() as stack:

        async def create() -> Tenant:
            namespace = Namespace(installed, f"tenant-{secrets.token_hex(3)}")
            await namespace.create()
            stack.push_async_callback(namespace.remove)
            return await stack.enter_async_context(tenant_of(namespace, tmp_path))

        yield create


@pytest_asyncio.fixture(loop_scope="session")
async def attacker(create_tenant: CreateTenant) -> Tenant:
    """The tenant who attacks."""
    return await create_tenant()


@pytest_asyncio.fixture(loop_scope="session")
async def victim(create_tenant: CreateTenant) -> Tenant:
    """A tenant who should notice nothing of it."""
    return await create_tenant()
