"""Discovery from labels: the configuration, the HyperNodes that follow, and how they are kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.jobs.controllers import Controlled
from tests.support.placement.hyper_nodes import tree_of
from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import converted
from volcano_py.api.objects import Node, ObjectMeta
from volcano_py.operator.hypernodes.discovery import HyperNodeDiscovery
from volcano_py.operator.hypernodes.labels import hyper_nodes_of
from volcano_py.operator.hypernodes.sources import LabelSource, read_sources
from volcano_py.state.infos import NodeInfo

HYPER_NODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
CONFIG = """
networkTopologyDiscovery:
- source: label
  enabled: true
  interval: 10m
  config:
    networkTopologyTypes:
      dc:
      - nodeLabel: zone
      - nodeLabel: rack
      - nodeLabel: kubernetes.io/hostname
"""
SOURCE = LabelSource({"dc": ("zone", "rack")}, 600.0)


def test_the_configuration_is_volcanos() -> None:
    found = read_sources(CONFIG)
    assert (found.labels, found.problems) == (SOURCE, ())
    assert read_sources(CONFIG.replace("enabled: true", "enabled: false")).labels is None
    assert read_sources(CONFIG.replace("  interval: 10m\n", "")).labels == LabelSource(SOURCE.types, 3600.0)
    assert read_sources("").labels is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CONFIG.replace("label\n", "roce\n"), "networkTopologyDiscovery[0].source: 'roce' is not discovered here"),
        (CONFIG.replace("10m", "soon"), "networkTopologyDiscovery[0].interval: "),
        (CONFIG.replace("rack", "zone"), "networkTopologyTypes.dc names a label twice"),
        (CONFIG.replace("dc:", "d" * 21 + ":"), "is not a name of 1 to 20 characters"),
        (CONFIG.partition("      - nodeLabel")[0], "is not a list of {nodeLabel: KEY}"),
        (CONFIG.partition("    networkTop")[0], "config.networkTopologyTypes is missing"),
        ("networkTopologyDiscovery: [3]", "networkTopologyDiscovery[0] is not a map"),
        ("a: [", "volcano-controller.conf cannot be read: "),
    ],
)
def test_what_is_wrong_with_the_configuration_is_said_with_its_field(text: str, problem: str) -> None:
    found = read_sources(text)
    assert found.labels is None
    (said,) = found.problems
    assert problem in said


def test_equal_values_in_two_zones_are_two_racks() -> None:
    """In Volcano they are one HyperNode with two parents (identity is the value), an error for the whole cluster."""
    nodes = {
        "a1": {"zone": "a", "rack": "r1"},
        "a2": {"zone": "a", "rack": "r1"},
        "a3": {"zone": "a"},
        "b1": {"zone": "b", "rack": "r1"},
        "lost": {"rack": "r1"},
        "none": {},
    }
    found = hyper_nodes_of(SOURCE, nodes.values())
    assert all(name.startswith(("hypernode-dc-tier1-", "hypernode-dc-tier2-")) for name in found)
    tree = tree_of(
        [converted(body, HyperNode) for body in found.values()],
        [NodeInfo(name, labels) for name, labels in nodes.items()],
    )
    assert tree.faults == ()
    names = list(nodes)
    members = {
        (tree.tier_names[domain], tuple(sorted(names[row] for row in tree.nodes(domain).tolist())))
        for domain in range(1, len(tree))
    }
    assert members == {
        ("zone", ("a1", "a2", "a3")), ("rack", ("a1", "a2")), ("zone", ("b1",)), ("rack", ("b1",)),
    }  # fmt: skip
    assert found == hyper_nodes_of(SOURCE, reversed(nodes.values())), "names follow from the paths alone"


class Cluster(Controlled[HyperNodeDiscovery]):
    """Nodes and HyperNodes that the discovery sees."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self.events: list[Event] = []
        self.controller = HyperNodeDiscovery(api, active=lambda: True, record=self.events.append)

    def node(self, name: str, **labels: str) -> None:
        self.controller.upsert("Node", Node(metadata=ObjectMeta(name=name, labels=labels)))

    def there(self) -> dict[str, dict[str, Any]]:
        return {path.rsplit("/", 1)[1]: found for path, found in self.api.objects.items()}

    def see(self) -> None:
        """As the watch does."""
        self.controller.replace("HyperNode", [converted(each, HyperNode) for each in self.there().values()])

    async def work(self, seconds: float = 5.0) -> None:
        """Let so much time pass, and see what was written."""
        async with self.running():
            await asyncio.sleep(seconds)
        self.see()


@pytest.fixture
async def cluster(api: Any) -> Cluster:
    cluster = Cluster(api)
    cluster.controller.configure(CONFIG)
    cluster.node("a1", zone="a", rack="r1")
    cluster.node("a2", zone="a", rack="r2")
    await cluster.work()
    return cluster


def tiers(cluster: Cluster) -> list[tuple[str, int]]:
    found = cluster.there().values()
    return sorted((each["metadata"]["labels"][each["spec"]["tierName"]], each["spec"]["tier"]) for each in found)


async def test_hyper_nodes_are_created_and_followed(cluster: Cluster) -> None:
    assert tiers(cluster) == [("a", 2), ("r1", 1), ("r2", 1)]
    written = len(cluster.api.requests)
    cluster.node("a3", zone="a", rack="r2")
    await cluster.work()
    assert len(cluster.api.requests) == written, "a further node of a rack matches its labels already"
    cluster.node("b1", zone="b", rack="r1")
    await cluster.work()
    assert tiers(cluster) == [("a", 2), ("b", 2), ("r1", 1), ("r1", 1), ("r2", 1)]


async def test_what_others_change_is_corrected_and_what_is_theirs_is_left_alone(cluster: Cluster) -> None:
    """#4497: Volcano did not update specs."""
    name, body = next(iter(cluster.there().items()))
    cluster.api.put(f"{HYPER_NODES}/{name}", body | {"spec": {**body["spec"], "tier": 7}})
    theirs = {"metadata": {"name": "by-hand"}, "spec": {"tier": 1, "members": []}}
    cluster.api.put(f"{HYPER_NODES}/by-hand", theirs)
    cluster.see()
    await cluster.work(7200)
    assert cluster.there()[name]["spec"] == body["spec"]
    assert cluster.there()["by-hand"]["spec"] == theirs["spec"]


async def test_a_surplus_one_is_deleted_late(cluster: Cluster) -> None:
    cluster.node("a2", zone="a", rack="r1")
    await cluster.work(500)
    assert ("r2", 1) in tiers(cluster)
    await cluster.work(200)
    assert tiers(cluster) == [("a", 2), ("r1", 1)]


async def test_one_that_is_wanted_again_in_time_stays(cluster: Cluster) -> None:
    cluster.node("a2", zone="a", rack="r1")
    await cluster.work(500)
    cluster.node("a2", zone="a", rack="r2")
    await cluster.work(7200)
    assert ("r2", 1) in tiers(cluster)
    assert cluster.api.count("DELETE") == 0


async def test_a_fault_of_the_configuration_is_an_event_on_the_config_map_once(cluster: Cluster) -> None:
    config = ObjectRef("ConfigMap", "volcano-system", "volcano-controller-configmap", "uid-of-it")
    for text in (CONFIG.replace("label\n", "roce\n"), CONFIG.replace("label\n", "roce\n"), CONFIG):
        cluster.controller.configure(text, config)
    (event,) = cluster.events
    assert (event.about, event.reason) == (config, "DiscoveryFailed")
    assert "networkTopologyDiscovery[0].source: 'roce' is not discovered here" in event.message


@pytest.mark.parametrize("gone", ["labels", "nodes", "configuration", "sources"])
async def test_a_source_that_disappears_deletes_nothing(cluster: Cluster, gone: str) -> None:
    match gone:
        case "labels":
            cluster.node("a1")
            cluster.node("a2")
        case "nodes":
            cluster.controller.replace("Node", [])
        case "configuration":
            cluster.controller.configure("")
        case "sources":
            cluster.controller.configure("networkTopologyDiscovery: []")
    await cluster.work(7200)
    assert tiers(cluster) == [("a", 2), ("r1", 1), ("r2", 1)]
