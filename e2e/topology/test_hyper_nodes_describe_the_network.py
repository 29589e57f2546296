"""HyperNodes on a real API server: statuses that follow the tree and the nodes, and what is refused or warned of."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.networks import HYPER_NODES, exact, hyper_node, label, regex
from e2e.harness.webhooks.admission import Door, answered
from volcano_py.local.client import APIError
from volcano_py.local.kubectl import KubectlError


class Network:
    """The HyperNodes of one test; their names begin with that of its namespace."""

    def __init__(self, cluster: Cluster, prefix: str) -> None:
        self.cluster, self._prefix = cluster, prefix
        self._created: set[str] = set()

    def name(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def body(self, name: str, *members: dict[str, Any], tier: Any = 1, **spec: Any) -> dict[str, Any]:
        return hyper_node(self.name(name), *members, tier=tier, **spec)

    async def put(self, name: str, *members: dict[str, Any], tier: int = 1) -> None:
        """Create it, or change its spec."""
        body = self.body(name, *members, tier=tier)
        path = f"{HYPER_NODES}/{self.name(name)}"
        if name in self._created:
            await self.cluster.client.merge_patch(path, {"spec": body["spec"]})
        else:
            await self.cluster.client.create(HYPER_NODES, body)
            self._created.add(name)

    async def delete(self, name: str) -> None:
        self._created.discard(name)
        await self.cluster.delete(f"{HYPER_NODES}/{self.name(name)}")

    async def delete_all(self) -> None:
        for name in sorted(self._created):
            await self.delete(name)

    async def wait(self, name: str, nodes: int, reason: str = "Valid", *, saying: str = "") -> None:
        """Until its status says so."""

        async def said() -> None:
            found = await self.cluster.client.get(f"{HYPER_NODES}/{self.name(name)}")
            status = found.get("status") or {}
            (condition,) = status.get("conditions") or [{}]
            assert (status.get("nodeCount"), condition.get("reason")) == (nodes, reason), status
            assert condition["status"] == str(reason == "Valid")
            assert saying in condition["message"], condition

        await self.cluster.eventually(f"HyperNode {name} with {nodes} nodes, {reason}", said)

    async def refusal(self, body: dict[str, Any]) -> str:
        """What the API server says when it refuses; "" when it does not."""
        try:
            await self.cluster.client.create(f"{HYPER_NODES}?dryRun=All", body)
        except APIError as error:
            return str(error)
        return ""

    async def warning(self, body: dict[str, Any]) -> str:
        """What kubectl warns of; "" for nothing."""
        command = ("create", "--dry-run=server", "--warnings-as-errors", "--filename", "-")
        try:
            await self.cluster.kubectl(*command, stdin=json.dumps(body))
        except KubectlError as error:
            return str(error)
        return ""


@pytest_asyncio.fixture(loop_scope="session")
async def network(installed: Cluster, namespace: Namespace) -> AsyncIterator[Network]:
    made = Network(installed, namespace.name)
    yield made
    await made.delete_all()


async def test_statuses_follow_the_tree_and_the_nodes(
    network: Network, daemon: Daemon, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(3)
    first, second, third = pool.names
    await network.put("a", exact(first), exact(second))
    await network.put("b", regex(f"^{third}$"))
    await network.put("spine", exact(network.name("a"), "HyperNode"), exact(network.name("b"), "HyperNode"), tier=2)
    await network.wait("a", 2)
    await network.wait("b", 1)
    await network.wait("spine", 3)

    # The tree is edited: a second parent, which comes later by name, changes nothing but conditions.
    await network.put("thief", exact(network.name("b"), "HyperNode"), tier=2)
    for name, nodes in (("b", 1), ("spine", 3), ("thief", 0)):
        await network.wait(name, nodes, "MemberHasTwoParents", saying=f"it is put below {network.name('spine')}")
    await network.wait("a", 2)
    await network.put("spine", exact(network.name("a"), "HyperNode"), tier=2)
    await network.wait("spine", 2)
    await network.wait("thief", 1)

    # A node goes.
    await network.cluster.delete(f"/api/v1/nodes/{first}")
    await network.wait("a", 1, "UnknownMember", saying=first)
    await network.wait("spine", 1)


DISCOVERY = """
networkTopologyDiscovery:
- source: label
  enabled: true
  interval: 1s
  config:
    networkTopologyTypes:
      e2e:
      - nodeLabel: e2e.example.com/zone
      - nodeLabel: e2e.example.com/rack
      - nodeLabel: kubernetes.io/hostname
"""
CONFIG_MAPS = "/api/v1/namespaces/volcano-system/configmaps"
CONFIG_MAP = f"{CONFIG_MAPS}/volcano-controller-configmap"
SOURCE = "volcano.sh/network-topology-source=label"


@pytest_asyncio.fixture(loop_scope="session")
async def discovery(installed: Cluster) -> AsyncIterator[None]:
    """The configuration of the discovery; afterwards nothing is left of what it made."""
    metadata = {"name": "volcano-controller-configmap"}
    await installed.client.create(CONFIG_MAPS, {"metadata": metadata, "data": {"volcano-controller.conf": DISCOVERY}})
    yield
    await installed.delete(CONFIG_MAP)
    for each in (await installed.client.get(HYPER_NODES, labelSelector=SOURCE))["items"]:
        await installed.delete(f"{HYPER_NODES}/{each['metadata']['name']}")


async def test_hyper_nodes_are_discovered_from_labels(
    discovery: None, installed: Cluster, start_daemon: StartDaemon, simulated_nodes: SimulatedNodes
) -> None:
    """Racks of the same name in two zones are two; a rack without nodes goes; an edited spec is corrected."""
    zone, rack = "e2e.example.com/zone", "e2e.example.com/rack"
    await simulated_nodes(2, labels={zone: "a", rack: "r1"})
    await simulated_nodes(1, labels={zone: "b", rack: "r1"})
    moving = await simulated_nodes(1, labels={zone: "b", rack: "r2"})
    await start_daemon()

    async def wait(*wanted: tuple[str, int, int]) -> list[str]:
        async def there() -> list[str]:
            found = (await installed.client.get(HYPER_NODES, labelSelector=SOURCE))["items"]
            said = [
                (
                    each["metadata"]["labels"][each["spec"]["tierName"]],
                    each["spec"]["tier"],
                    each.get("status", {}).get("nodeCount"),
                )
                for each in found
            ]
            assert sorted(said, key=str) == sorted(wanted, key=str), said
            return sorted(each["metadata"]["name"] for each in found)

        return await installed.eventually(f"HyperNodes {wanted}", there)

    names = await wait(("a", 2, 2), ("b", 2, 2), ("r1", 1, 2), ("r1", 1, 1), ("r2", 1, 1))
    await installed.client.merge_patch(f"{HYPER_NODES}/{names[0]}", {"spec": {"tier": 9}})
    await wait(("a", 2, 2), ("b", 2, 2), ("r1", 1, 2), ("r1", 1, 1), ("r2", 1, 1))
    await installed.client.merge_patch(f"/api/v1/nodes/{moving.names[0]}", {"metadata": {"labels": {rack: "r1"}}})
    await wait(("a", 2, 2), ("b", 2, 2), ("r1", 1, 2), ("r1", 1, 2))


async def test_malformed_hyper_nodes_are_refused_with_the_reason_and_stop_no_other(
    network: Network, door: Door, start_daemon: StartDaemon
) -> None:
    await start_daemon(*door.flags)
    await answered(door)
    bad = [
        network.body("bad"),
        network.body("bad", exact("n1"), tier=-1),
        network.body("bad", exact("n1"), tier="one"),
        network.body("bad", exact("Upper")),
        network.body("bad", exact("")),
        network.body("bad", exact("n1", kind="Pod")),
        network.body("bad", exact("n1", kind="")),
        network.body("bad", {"type": "Node"}),
        network.body("bad", {"type": "Node", "selector": {}}),
        network.body("bad", exact("n1", regexMatch={"pattern": "a"})),
        network.body("bad", exact("n1", labelMatch={"matchLabels": {"a": "b"}})),
        network.body("bad", label("HyperNode", a="b")),
        network.body("bad", regex("")),
        network.body("bad", regex("(")),
        network.body("bad", regex("[a")),
        network.body("bad", regex("a{2,1}")),
        network.body("bad", regex("*")),
        network.body("bad", regex("(?=a)")),
        network.body("bad", regex("a" * 1025)),
        network.body("bad", exact("n1"), tierName="x" * 254),
        network.body("bad", "n1"),  # type: ignore[arg-type]
    ]
    for body in bad:
        said = await network.refusal(body)
        assert "spec." in said, (body, said)
    assert "regexMatch.pattern: ( cannot be used: " in await network.refusal(network.body("bad", regex("(")))
    said = await network.warning(network.body("odd", regex("node-1")))
    assert "regexMatch.pattern node-1 may be found anywhere in a name" in said
    assert "selects no HyperNode" in await network.warning(network.body("odd", regex("^a$", "HyperNode")))
    await network.put("low", exact("n1"))
    said = await network.warning(network.body("odd", exact(network.name("low"), "HyperNode"), tier=1))
    assert f"spec.tier is 1, not above 1 of its member {network.name('low')}" in said
    assert await network.warning(network.body("fine", exact(network.name("low"), "HyperNode"), tier=2)) == ""
