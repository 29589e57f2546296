"""Discovery from UFM: the configuration, the HyperNodes that follow from ports, and what happens when UFM is away."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from tests.support.jobs.controllers import Controlled
from tests.support.placement.hyper_nodes import tree_of
from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import converted
from volcano_py.api.objects import Node, ObjectMeta
from volcano_py.operator.hypernodes.discovery import HyperNodeDiscovery
from volcano_py.operator.hypernodes.sources import UfmSource, read_sources
from volcano_py.operator.hypernodes.ufm import Port, hyper_nodes_of_ports
from volcano_py.operator.hypernodes.ufm_client import Credentials, UfmError

HYPER_NODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
SECRET = "/api/v1/namespaces/volcano-system/secrets/ufm"
CONFIG = """
networkTopologyDiscovery:
- source: ufm
  enabled: true
  interval: 10m
  credentials:
    secretRef: {name: ufm, namespace: volcano-system}
  config:
    endpoint: ufm.example.com
"""
SOURCE = UfmSource("https://ufm.example.com", ("volcano-system", "ufm"), interval=600.0)
CONFIG_MAP = ObjectRef("ConfigMap", "volcano-system", "volcano-controller-configmap", "uid-of-it")


def test_the_configuration_is_volcanos() -> None:
    found = read_sources(CONFIG)
    assert (found.ufm, found.labels, found.problems) == (SOURCE, None, ())
    open_to_all = read_sources(CONFIG.replace("ufm.example.com", "http://ufm:8080/\n    insecureSkipVerify: true")).ufm
    assert open_to_all == UfmSource("http://ufm:8080", ("volcano-system", "ufm"), is_insecure=True, interval=600.0)
    assert read_sources(CONFIG.replace("enabled: true", "enabled: false")).ufm is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CONFIG.replace("    endpoint: ufm.example.com", "    {}"), "config.endpoint is missing"),
        (CONFIG.replace("ufm.example.com", "ftp://ufm"), "config.endpoint: 'ftp://ufm' is not an address"),
        (CONFIG.replace("ufm.example.com", "'https://ufm:notaport'"), "is not an address"),
        (CONFIG.replace("ufm.example.com", "https://me:secret@ufm"), "is not an address"),
        (CONFIG.replace("name: ufm, ", ""), "credentials.secretRef: name the Secret"),
        (CONFIG.replace("name: ufm,", "name: ../ufm,"), "credentials.secretRef: name the Secret"),
        (CONFIG + "    insecureSkipVerify: 'yes'", "config.insecureSkipVerify: 'yes' is not true or false"),
        (CONFIG.replace("10m", "soon"), "interval: "),
    ],
)
def test_what_is_wrong_with_the_configuration_is_said_with_its_field(text: str, problem: str) -> None:
    found = read_sources(text)
    assert found.ufm is None
    (said,) = found.problems
    assert problem in said


def port(machine: str, switch: str, description: str = "Computer IB Port") -> Port:
    return Port(description=description, system_name=machine, peer_node_name=switch)


PORTS = (
    port("a1", "leaf-1"),
    port("a1", "leaf-2"),
    port("a2", "leaf-2"),
    port("a3", "leaf-3"),
    port("b1", "leaf-4"),
    port("b2", "leaf-4"),
    port("leaf-4", "spine-1", "Switch IB Port"),
    port("b2", ""),
    Port(description=None, system_name=None, peer_node_name=None),
)


def members(found: dict[str, Any], nodes: list[str]) -> set[tuple[str, tuple[str, ...]]]:
    tree = tree_of([converted(body, HyperNode) for body in found.values()], nodes)
    assert tree.faults == ()
    return {
        (tree.tier_names[domain], tuple(sorted(nodes[row] for row in tree.nodes(domain).tolist())))
        for domain in range(1, len(tree))
    }


def test_leaves_that_share_a_machine_are_one_hyper_node() -> None:
    nodes = ["a1", "a2", "a3", "b1", "b2", "elsewhere"]
    assert members(hyper_nodes_of_ports(PORTS, nodes), nodes) == {
        ("leaf", ("a1", "a2")),
        ("leaf", ("a3",)),
        ("leaf", ("b1", "b2")),
        ("spine", ("a1", "a2", "a3", "b1", "b2")),
    }


def test_machines_that_are_no_nodes_are_left_out() -> None:
    nodes = ["b2"]
    assert members(hyper_nodes_of_ports(PORTS, nodes), nodes) == {("leaf", ("b2",)), ("spine", ("b2",))}
    assert hyper_nodes_of_ports(PORTS, []) == {}


def test_one_more_leaf_renames_no_other() -> None:
    """Volcano numbers leaves: those behind a new one are renamed."""
    nodes = ["a1", "a2", "a3", "b1", "b2", "c1"]
    before = hyper_nodes_of_ports(PORTS, nodes)
    after = hyper_nodes_of_ports([port("c1", "leaf-0"), *reversed(PORTS)], nodes)
    assert before.keys() < after.keys()
    assert all(after[name] == body for name, body in before.items() if name != "spine-hn")


class Cluster(Controlled[HyperNodeDiscovery]):
    """Nodes, HyperNodes and a UFM that answers `answer`, or fails with it."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self.events: list[Event] = []
        self.answer: list[Port] | Exception = list(PORTS)
        self.asked: list[Credentials] = []
        self.controller = HyperNodeDiscovery(
            api, active=lambda: True, record=self.events.append, ports_of=self._ports_of
        )
        self.secret(username="admin", password="123456")
        for name in ("a1", "a2", "b1", "b2"):
            self.controller.upsert("Node", Node(metadata=ObjectMeta(name=name)))
        self.controller.configure(CONFIG, CONFIG_MAP)

    async def _ports_of(self, source: UfmSource, credentials: Credentials) -> list[Port]:
        assert source == SOURCE
        self.asked.append(credentials)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def secret(self, **data: str) -> None:
        coded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        self.api.put(SECRET, {"data": coded})

    def names(self) -> list[str]:
        return sorted(path.rsplit("/", 1)[1] for path in self.api.objects if path != SECRET)

    async def work(self, seconds: float) -> None:
        """Let so much time pass, and see what was written."""
        async with self.running():
            await asyncio.sleep(seconds)
        found = [self.api.objects[f"{HYPER_NODES}/{name}"] for name in self.names()]
        self.controller.replace("HyperNode", [converted(each, HyperNode) for each in found])


@pytest.fixture
async def cluster(api: Any) -> Cluster:
    cluster = Cluster(api)
    await cluster.work(5)
    assert len(cluster.names()) == 3
    return cluster


async def test_ufm_is_asked_once_an_interval_with_the_password_of_that_moment(cluster: Cluster) -> None:
    cluster.controller.upsert("Node", Node(metadata=ObjectMeta(name="a3")))
    await cluster.work(500)
    assert cluster.asked == [Credentials("admin", "123456")]
    assert len(cluster.names()) == 4, "a node of the cluster that UFM had named"
    cluster.secret(username="admin", password="another")
    await cluster.work(200)
    assert cluster.asked[1:] == [Credentials("admin", "another")]


@pytest.mark.parametrize("answer", [[], UfmError("https://ufm.example.com does not answer: gone")])
async def test_a_ufm_that_is_away_or_names_nothing_deletes_nothing(cluster: Cluster, answer: Any) -> None:
    """In Volcano, an empty answer deletes all."""
    before, cluster.answer = cluster.names(), answer
    await cluster.work(4 * 3600)
    assert cluster.names() == before
    (event,) = cluster.events
    assert (event.about, event.type, event.reason) == (CONFIG_MAP, "Warning", "DiscoveryFailed")
    assert event.message == (
        "UFM names no node of the cluster; its 3 HyperNodes stay"
        if answer == []
        else "https://ufm.example.com does not answer: gone"
    )


async def test_a_source_that_is_taken_out_deletes_nothing(cluster: Cluster) -> None:
    before = cluster.names()
    cluster.controller.configure("", None)
    await cluster.work(4 * 3600)
    assert cluster.names() == before


async def test_a_leaf_that_ufm_names_no_more_goes_late(cluster: Cluster) -> None:
    cluster.answer = [each for each in PORTS if each.peer_node_name != "leaf-4"]
    await cluster.work(700)
    assert len(cluster.names()) == 3
    await cluster.work(700)
    assert len(cluster.names()) == 2


async def test_a_failed_question_is_asked_again_in_a_minute(cluster: Cluster) -> None:
    cluster.answer = UfmError("no answer")
    await cluster.work(600)
    asked, cluster.answer = len(cluster.asked), list(PORTS)
    await cluster.work(90)
    assert len(cluster.asked) == asked + 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "Secret volcano-system/ufm of the credentials does not exist"),
        ({"username": "admin"}, "lacks the key password"),
        ({"username": "a:b", "password": "x"}, "username has a colon"),
    ],
)
async def test_credentials_that_cannot_be_used_are_reported(
    cluster: Cluster, data: dict[str, str] | None, said: str
) -> None:
    if data is None:
        del cluster.api.objects[SECRET]
    else:
        cluster.secret(**data)
    await cluster.work(1200)
    assert len(cluster.asked) == 1
    (event,) = cluster.events
    assert said in event.message
