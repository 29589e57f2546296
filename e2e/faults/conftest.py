"""Fixtures of the fault suite: a control plane of its own, which is killed and restarted, and a proxy before it."""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
import pytest_asyncio

from e2e.faults.injection.oddities import Store
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.install import deployment_at_rest, install
from e2e.harness.namespace import Namespace
from e2e.harness.rights import Right, audited_control_plane
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.processes.ports import LOOPBACK

Table = dict[str, Counter[tuple[str, str]]]
_TABLES = pytest.StashKey[Table]()
_FIGURES = pytest.StashKey[list[str]]()

SOAK_MINUTES = 20.0
_AFTERWARDS = 15.0  # minutes, for what the churn has left behind


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--soak` is known when this directory is named on the command line."""
    parser.addoption(
        "--soak",
        action="store_true",
        help="fault suite: 1,000 faults, and 20 minutes of churn under the eye on memory",
    )
    parser.addoption(
        "--soak-minutes",
        type=float,
        default=SOAK_MINUTES,
        help="fault suite: how long the soak's churn lasts; what memory may grow by is known of the default only",
    )
    parser.addoption("--fault-seed", type=int, default=1, help="fault suite: seed of faults, churn and crashes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes many minutes is run by hand, and has the time that it was given."""
    by_hand = [item for item in items if item.get_closest_marker("soak")]
    if getattr(config.option, "soak", False):
        for item in by_hand:
            item.add_marker(pytest.mark.timeout(60 * (config.option.soak_minutes + _AFTERWARDS)), append=False)
        return
    if by_hand:
        config.hook.pytest_deselected(items=by_hand)
        items[:] = [item for item in items if item not in by_hand]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was injected in each test."""
    for test, injected in config.stash.get(_TABLES, {}).items():
        if not injected:
            continue
        terminalreporter.section(f"{injected.total()} faults in {test}", sep="-")
        for (group, fault), count in sorted(injected.items()):
            terminalreporter.write_line(f"{count:6d}  {group:14s} {fault}")
    for figure in config.stash.get(_FIGURES, []):
        terminalreporter.write_line(figure)


@dataclass(frozen=True)
class Scale:
    """How much a run injects."""

    soak: bool
    seed: int
    soak_minutes: float

    @property
    def soak_seconds(self) -> float:
        """Of the long churn."""
        return 60 * self.soak_minutes


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> Scale:
    """As the command line says."""
    options = request.config.option
    return Scale(
        getattr(options, "soak", False),
        getattr(options, "fault_seed", 1),
        getattr(options, "soak_minutes", SOAK_MINUTES),
    )


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def control_plane(used_elsewhere: set[Right]) -> AsyncIterator[ControlPlane]:
    """A control plane whose processes may be killed."""
    async with audited_control_plane(used_elsewhere) as control_plane:
        yield control_plane


@pytest.fixture(scope="package")
def cluster(control_plane: ControlPlane) -> Cluster:
    return Cluster.of(control_plane)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def installed(cluster: Cluster) -> AsyncIterator[Cluster]:
    async with deployment_at_rest(cluster):
        await install(cluster)
        yield cluster


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Print a line after all tests."""
    figures = request.config.stash.setdefault(_FIGURES, [])
    return lambda line: figures.append(f"{request.node.name}: {line}")


@pytest.fixture
def count_faults(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Count something that was injected otherwise than by a proxy, such as kill -9, in the table of the test."""
    tables = request.config.stash.setdefault(_TABLES, {})
    table = tables.setdefault(request.node.name, Counter())

    def count(what: str, times: int = 1) -> None:
        table["processes", what] += times

    return count


@pytest_asyncio.fixture(loop_scope="session")
async def start_proxy(
    control_plane: ControlPlane, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[[], Awaitable[FaultProxy]]]:
    """Start proxies before the API server; what they have injected is printed after all tests."""
    authority = control_plane.layout.file("ca.crt")
    trust = ssl.create_default_context(cafile=authority)
    proxies: list[FaultProxy] = []
    async with AsyncExitStack() as stack:

        async def start() -> FaultProxy:
            pair = control_plane.layout.authority.serving("fault-proxy", ("localhost",), (LOOPBACK,))
            directory = control_plane.work_dir / "fault-proxy"
            directory.mkdir(exist_ok=True)
            certificate, key = directory / "proxy.crt", directory / "proxy.key"
            certificate.write_bytes(pair.certificate)
            key.write_bytes(pair.key)
            serve = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            serve.load_cert_chain(certificate, key)
            proxy = await stack.enter_async_context(FaultProxy(control_plane.server, trust=trust, serve=serve))
            proxies.append(proxy)
            return proxy

        yield start
        tables = request.config.stash.setdefault(_TABLES, {})
        table = tables.setdefault(request.node.name, Counter())
        for proxy in proxies:
            table.update({(group, str(fault)): count for (group, fault), count in proxy.injected.items()})


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(start_proxy: Callable[[], Awaitable[FaultProxy]]) -> FaultProxy:
    """One proxy; calm until it gets a plan."""
    return await start_proxy()


@pytest_asyncio.fixture(loop_scope="session")
async def store(namespace: Namespace) -> AsyncIterator[Store]:
    """Creates what no schema would admit; it is gone after the test."""
    store = Store(namespace)
    yield store
    await store.clear()
