"""Fixtures of the end-to-end tests.

They run against a control plane of their own, or, with E2E_KUBECONFIG=FILE, against the cluster of that kubeconfig (its
current context, with an administrator's rights; it gets the CRDs and manifests of this repository and keeps them).
Everything runs on one event loop, because the cluster is started once for all tests.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest
import pytest_asyncio

from e2e.harness.cluster import EXTERNAL_BINARIES, Cluster, external_cluster, local_cluster
from e2e.harness.daemon import Daemon, daemon_kubeconfig
from e2e.harness.devices import Driver
from e2e.harness.install import CONFIG_KEY, CONFIG_MAP_PATH, deployment_at_rest, give_lease_back, install
from e2e.harness.namespace import Namespace
from e2e.harness.networks import rack
from e2e.harness.rights import Right
from e2e.harness.webhooks.admission import Door, open_door, take_away
from volcano_py.local.binaries.binaries import CONTROL_PLANE_BINARIES, ensure_binaries
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.nodes import create_nodes

_HERE = Path(__file__).parent
_EXTERNAL = os.environ.get("E2E_KUBECONFIG", "")

_POOL_LABEL = "e2e.volcano-py/pool"

_TEST_SECONDS = 900
"""The limit of a whole test with its fixtures, the control plane's start included: above all limits of waits in it, so
that a failure says what was waited for."""


@pytest.hookimpl(tryfirst=True)  # before tests are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One event loop and time limit for all; and on a foreign cluster, no test that stops its API server."""
    ours = [item for item in items if item.path.is_relative_to(_HERE)]
    for item in ours:
        item.add_marker(pytest.mark.controlplane)
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_TEST_SECONDS))
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
    if _EXTERNAL:
        impossible = [item for item in ours if "control_plane" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=impossible)
        items[:] = [item for item in items if item not in impossible]
    _put_last(config, items, Path("rights") / "test_every_right_is_used.py")


def _put_last(config: pytest.Config, items: list[pytest.Item], file: Path) -> None:
    """The tests of this file come last, and only after all the others: they look at what those have left."""
    last = [item for item in items if item.path == _HERE / file]
    others = [item for item in items if item not in last]
    everything = {path for path in _HERE.rglob("test_*.py") if path != _HERE / file}
    if last and not everything <= {item.path for item in others}:
        config.hook.pytest_deselected(items=last)
        last = []
    items[:] = others + last


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build missing binaries before the first test: minutes that are no test's, and that the user should see pass."""
    options = session.config.option
    nothing_runs = options.collectonly or options.setupplan
    if nothing_runs or not any(item.path.is_relative_to(_HERE) for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        ensure_binaries(EXTERNAL_BINARIES if _EXTERNAL else CONTROL_PLANE_BINARIES)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """The cluster, as its administrator; nothing is installed yet."""
    if _EXTERNAL:
        async with external_cluster(Path(_EXTERNAL), tmp_path_factory.mktemp("cluster")) as cluster:
            yield cluster
    else:
        async with local_cluster() as cluster:
            yield cluster


@pytest.fixture(scope="session")
def used_elsewhere() -> set[Right]:
    """What daemons have used on control planes that are gone; suites with a control plane of their own add to it."""
    return set()


@pytest.fixture(scope="session")
def control_plane(cluster: Cluster) -> ControlPlane:
    """The control plane itself, for tests that restart its processes; they are left out on an external cluster."""
    assert cluster.control_plane is not None
    return cluster.control_plane


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def installed(cluster: Cluster) -> AsyncIterator[Cluster]:
    """The cluster with our CRDs, RBAC and configuration, and no other daemon of ours at work."""
    async with deployment_at_rest(cluster):
        await install(cluster)
        yield cluster


class StartDaemon(Protocol):
    """Starts a daemon with further flags; `ready=False` does not wait for /readyz.

    `server`: the URL of the API server, if it is reached by another URL than usual.
    """

    def __call__(self, *arguments: str, ready: bool = True, server: str = "") -> Awaitable[Daemon]: ...


@pytest.fixture
def daemons() -> list[Daemon]:
    """Those that the test has started."""
    return []


@pytest_asyncio.fixture(loop_scope="session")
async def start_daemon(installed: Cluster, tmp_path: Path, daemons: list[Daemon]) -> AsyncIterator[StartDaemon]:
    """Start daemons (the n-th is called daemon-n); all are stopped at the end of the test."""

    async def start(*arguments: str, ready: bool = True, server: str = "") -> Daemon:
        name = f"daemon-{len(daemons) + 1}"
        kubeconfig = await daemon_kubeconfig(installed, tmp_path / f"{name}.kubeconfig", server)
        daemon = Daemon(name, kubeconfig, tmp_path, arguments)
        daemons.append(daemon)
        installed.diagnostics.append(daemon.diagnosis)
        await daemon.start(ready=ready)
        return daemon

    yield start
    installed.diagnostics.clear()
    for daemon in daemons:
        await daemon.stop()
    # A killed leader's Lease would keep the next test's daemon waiting until it expires.
    await give_lease_back(installed)


@pytest_asyncio.fixture(loop_scope="session")
async def door(installed: Cluster, control_plane: ControlPlane) -> AsyncIterator[Door]:
    """The webhooks, installed for one test. Only our own API server reaches a daemon that runs next to it."""
    door = await open_door(installed)
    yield door
    await take_away(installed)


@pytest_asyncio.fixture(loop_scope="session")
async def daemon(start_daemon: StartDaemon) -> Daemon:
    """The daemon with its default flags, ready."""
    return await start_daemon()


Configure = Callable[[str], Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def configure(installed: Cluster) -> AsyncIterator[Configure]:
    """Replace the volcano-scheduler.conf in the cluster's ConfigMap; the shipped one comes back after the test."""
    shipped = (await installed.client.get(CONFIG_MAP_PATH))["data"][CONFIG_KEY]

    async def replace(configuration: str) -> None:
        await installed.client.merge_patch(CONFIG_MAP_PATH, {"data": {CONFIG_KEY: configuration}})

    yield replace
    await replace(shipped)


Wire = Callable[[Mapping[str, Iterable[str]]], Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def wire(cluster: Cluster) -> AsyncIterator[Wire]:
    """Create or change racks with these nodes; they are deleted after the test."""
    made: set[str] = set()

    async def apply(racks: Mapping[str, Iterable[str]]) -> None:
        made.update(racks)
        for name, nodes in racks.items():
            await cluster.apply([rack(name, nodes)])

    yield apply
    for name in sorted(made):
        await cluster.kubectl("delete", "hypernode", name, "--ignore-not-found")


@dataclass(frozen=True)
class NodePool:
    """Simulated nodes of one test; pods with `selector` as node selector go nowhere else."""

    names: tuple[str, ...]
    selector: Mapping[str, str]


class SimulatedNodes(Protocol):
    """Creates a pool of equal nodes."""

    def __call__(
        self,
        count: int,
        *,
        cpu: str = "4",
        memory: str = "16Gi",
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        **resources: str,
    ) -> Awaitable[NodePool]: ...


@pytest_asyncio.fixture(loop_scope="session")
async def simulated_nodes(cluster: Cluster) -> AsyncIterator[SimulatedNodes]:
    """Create pools of simulated nodes; they are deleted after the test."""
    created: list[str] = []

    async def create(
        count: int,
        *,
        cpu: str = "4",
        memory: str = "16Gi",
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        **resources: str,
    ) -> NodePool:
        pool = secrets.token_hex(3)
        names = await create_nodes(
            cluster.client,
            count,
            allocatable={"cpu": cpu, "memory": memory, **resources},
            labels={**(labels or {}), _POOL_LABEL: pool},
            taints=taints,
            name_format=f"e2e-{pool}-{{:03d}}",
        )
        created.extend(names)

        async def schedulable() -> None:
            nodes = (await cluster.client.get("/api/v1/nodes", labelSelector=f"{_POOL_LABEL}={pool}"))["items"]
            wanted = {taint["key"] for taint in taints}
            tainted = {
                node["metadata"]["name"]: taint["key"]
                for node in nodes
                for taint in node["spec"].get("taints") or []
                if taint["key"] not in wanted
            }
            assert not tainted, f"a taint of the cluster's own is still on {tainted}"

        await cluster.eventually("nodes without the not-ready taint", schedulable)
        return NodePool(tuple(names), {_POOL_LABEL: pool})

    yield create
    for name in created:
        await cluster.delete(f"/api/v1/nodes/{name}")


@pytest_asyncio.fixture(loop_scope="session")
async def driver(installed: Cluster) -> AsyncIterator[Driver]:
    """A driver of devices and its class; the class and the slices are deleted after the test."""
    driver = Driver(installed)
    await driver.create_class()
    yield driver
    await driver.remove()


@pytest_asyncio.fixture(loop_scope="session")
async def create_queues(installed: Cluster, daemons: list[Daemon]) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    """Apply Queue objects, and wait until the test's daemons know them; they are deleted after the test."""
    names: list[str] = []

    async def create(*queues: dict[str, Any]) -> None:
        added = [queue["metadata"]["name"] for queue in queues]
        names.extend(added)
        await installed.apply(queues)
        for daemon in daemons:
            if daemon.process.running:
                await daemon.wait_queues(*added)

    yield create
    for name in reversed(names):
        # Where there is admission, it is refused while PodGroups of a namespace that is being deleted are still there.
        await installed.eventually(
            f"queue {name} is deleted", partial(installed.delete, f"/apis/scheduling.volcano.sh/v1beta1/queues/{name}")
        )


# Its pods must be gone before their nodes and queues are, so it is set up after those.
@pytest_asyncio.fixture(loop_scope="session")
async def namespace(
    installed: Cluster, simulated_nodes: SimulatedNodes, create_queues: object
) -> AsyncIterator[Namespace]:
    """A new namespace; it is deleted after the test."""
    namespace = Namespace(installed, f"e2e-{secrets.token_hex(3)}")
    await namespace.create()
    yield namespace
    await namespace.remove()
