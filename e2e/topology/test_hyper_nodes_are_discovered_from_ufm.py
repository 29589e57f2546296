"""Discovery from UFM on a real API server, with a UFM in the test: a server that wants a name and a password."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
import yaml
from aiohttp import web

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.networks import HYPER_NODES
from e2e.harness.views import listed
from volcano_py.shipped import shipped

CONFIG_MAPS = "/api/v1/namespaces/volcano-system/configmaps"
NAME = "volcano-controller-configmap"
SECRETS = "/api/v1/namespaces/volcano-system/secrets"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces/volcano-system"
UFM = {"labelSelector": "volcano.sh/network-topology-source=ufm"}
SECRET = "ufm-credentials"
"""Its name in manifests/ufm."""


class Ufm:
    """A UFM; `machines` are its leaf switches with the machines at each."""

    def __init__(self) -> None:
        self.machines: dict[str, list[str]] = {}
        self.url = ""

    async def ports(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Basic {b64encode(b'admin:e2e-password').decode()}":
            return web.Response(status=401)
        found = [
            {"description": "Computer IB Port", "system_name": machine, "peer_node_name": switch}
            for switch, machines in self.machines.items()
            for machine in machines
        ]
        return web.json_response([*found, {"description": "Switch IB Port", "system_name": "leaf-a"}])


@pytest_asyncio.fixture(loop_scope="session")
async def ufm() -> AsyncIterator[Ufm]:
    """A UFM on this machine."""
    ufm, app = Ufm(), web.Application()
    app.router.add_get("/ufmRest/resources/ports", ufm.ports)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    ufm.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield ufm
    await runner.cleanup()


@pytest_asyncio.fixture(loop_scope="session")
async def discovery(installed: Cluster, ufm: Ufm) -> AsyncIterator[Cluster]:
    """The configuration, and the shipped right to read the Secret, which is not there yet; nothing is left behind."""
    source = {
        "source": "ufm",
        "enabled": True,
        "interval": "1s",
        "credentials": {"secretRef": {"name": SECRET, "namespace": "volcano-system"}},
        "config": {"endpoint": ufm.url},
    }
    text = yaml.safe_dump({"networkTopologyDiscovery": [source]})
    await installed.client.create(CONFIG_MAPS, {"metadata": {"name": NAME}, "data": {"volcano-controller.conf": text}})
    granted = list(yaml.safe_load_all((shipped("manifests") / "ufm" / "rbac.yaml").read_text(encoding="utf-8")))
    for each in granted:
        await installed.client.create(f"{RIGHTS}/{each['kind'].lower()}s", each)
    yield installed
    for path in (
        f"{CONFIG_MAPS}/{NAME}",
        *(f"{RIGHTS}/{each['kind'].lower()}s/{each['metadata']['name']}" for each in granted),
        f"{SECRETS}/{SECRET}",
    ):
        await installed.delete(path)
    for each in (await installed.client.get(HYPER_NODES, **UFM))["items"]:
        await installed.delete(f"{HYPER_NODES}/{each['metadata']['name']}")


def with_password(password: str) -> dict[str, Any]:
    return {"metadata": {"name": SECRET}, "stringData": {"username": "admin", "password": password}}


async def test_hyper_nodes_follow_ufm_and_stay_when_it_is_away(
    discovery: Cluster, ufm: Ufm, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    first, second, third = (await simulated_nodes(3)).names
    ufm.machines = {"leaf-a": [first, second], "leaf-b": [third], "leaf-c": ["no-node"]}
    await start_daemon()

    async def reported(saying: str) -> None:
        async def seen() -> None:
            events = [each for each in await discovery.events("volcano-system") if each.reason == "DiscoveryFailed"]
            about = [each for each in events if each.about == f"ConfigMap/{NAME}"]
            assert any(saying in each.message for each in about), listed(events)

        await discovery.eventually(f"an event that says {saying}", seen)

    async def counted(**wanted: int) -> list[str]:
        async def there() -> list[str]:
            found = (await discovery.client.get(HYPER_NODES, **UFM))["items"]
            counts = [(each["spec"]["tierName"], each.get("status", {}).get("nodeCount")) for each in found]
            assert sorted(counts, key=str) == sorted(((name[:-1], count) for name, count in wanted.items()), key=str)
            return sorted(each["metadata"]["name"] for each in found)

        return await discovery.eventually(f"HyperNodes {wanted}", there)

    await reported("Secret volcano-system/ufm-credentials of the credentials does not exist")
    await discovery.client.create(SECRETS, with_password("wrong"))
    await reported("answered 401: correct username and password in the Secret")
    await discovery.client.merge_patch(f"{SECRETS}/{SECRET}", with_password("e2e-password"))
    names = await counted(leaf1=2, leaf2=1, spine3=3)

    ufm.machines = {}
    await reported("UFM names no node of the cluster; its 3 HyperNodes stay")
    assert await counted(leaf1=2, leaf2=1, spine3=3) == names
    ufm.machines = {"leaf-a": [first, second]}
    await counted(leaf1=2, spine2=2)
