"""The HyperNode controller against an API server in memory: counts, conditions, and what it does in trouble."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.jobs.controllers import Controlled
from tests.support.placement.hyper_nodes import hyper_node
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import converted
from volcano_py.api.objects import Node, ObjectMeta
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.operator.hypernodes.controller import HyperNodeController

HYPER_NODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"


class Cluster(Controlled[HyperNodeController]):
    """HyperNodes and nodes that the controller sees."""

    def __init__(self, api: Any) -> None:
        self.api, self.leads = api, True
        self.controller = HyperNodeController(api, active=lambda: self.leads)

    def put(self, *made: HyperNode) -> None:
        """Create HyperNodes, or change their specs."""
        for each in made:
            name = each.metadata.name
            path = f"{HYPER_NODES}/{name}"
            body = {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": msgspec.to_builtins(each.spec)}
            self.api.put(path, body | {key: self.api.objects[path][key] for key in ("status",) if self._has(path, key)})
            self.see(name)

    def _has(self, path: str, key: str) -> bool:
        return key in self.api.objects.get(path, {})

    def see(self, name: str) -> None:
        """Let the controller see it as it is."""
        self.controller.upsert("HyperNode", converted(self.api.objects[f"{HYPER_NODES}/{name}"], HyperNode))

    def delete(self, name: str) -> None:
        raw = self.api.objects.pop(f"{HYPER_NODES}/{name}")
        self.controller.delete("HyperNode", converted(raw, HyperNode))

    def nodes(self, *names: str, **labels: str) -> None:
        for name in names:
            self.controller.upsert("Node", Node(metadata=ObjectMeta(name=name, labels=labels)))

    def counts(self) -> dict[str, int]:
        return {
            path.rsplit("/", 1)[1]: found["status"]["nodeCount"]
            for path, found in self.api.objects.items()
            if "status" in found
        }

    def condition(self, name: str) -> dict[str, Any]:
        (found,) = self.api.objects[f"{HYPER_NODES}/{name}"]["status"]["conditions"]
        assert isinstance(found, dict)
        return found


@pytest.fixture
async def cluster(api: Any) -> Cluster:
    """Two racks below a spine, one of which selects by label."""
    cluster = Cluster(api)
    cluster.nodes("a1", "a2", "x")
    cluster.nodes("b1", rack="b")
    cluster.put(
        hyper_node("rack-a", 1, nodes=["a1", "a2"]),
        hyper_node("rack-b", 1, labels={"rack": "b"}),
        hyper_node("spine", 2, children=["rack-a", "rack-b"]),
    )
    return cluster


async def test_nodes_are_counted_in_the_whole_subtree(cluster: Cluster) -> None:
    await cluster.settle()
    assert cluster.counts() == {"rack-a": 2, "rack-b": 1, "spine": 3}
    assert cluster.condition("spine") | {"lastTransitionTime": ""} == {
        "type": "Valid", "status": "True", "reason": "Valid", "message": "", "lastTransitionTime": "",
    }  # fmt: skip


async def test_counts_follow_the_nodes(cluster: Cluster) -> None:
    """A node that is added, relabelled or gone: Volcano recounts on changes of HyperNodes only (#4327)."""
    await cluster.settle()
    cluster.nodes("b2", rack="b")
    cluster.nodes("b1", rack="c")
    cluster.controller.delete("Node", Node(metadata=ObjectMeta(name="a1")))
    await cluster.settle()
    assert cluster.counts() == {"rack-a": 1, "rack-b": 1, "spine": 2}
    assert cluster.condition("rack-a")["reason"] == "UnknownMember"


async def test_nothing_is_written_while_nothing_differs(cluster: Cluster) -> None:
    await cluster.settle()
    written = cluster.api.count("PATCH")
    assert written == 3
    for name in ("rack-a", "rack-b", "spine"):
        cluster.see(name)
    cluster.nodes("x", "a1")
    cluster.controller.leadership_gained()
    await cluster.settle()
    assert cluster.api.count("PATCH") == written


async def test_a_fault_is_on_both_sides_of_the_link_in_dispute_and_nowhere_else(cluster: Cluster) -> None:
    cluster.put(hyper_node("thief", 2, children=["rack-b"]), hyper_node("loop", 1, children=["loop"]))
    await cluster.settle()
    said = "rack-b is a member of spine and of thief; it is put below spine"
    for name in ("rack-b", "spine", "thief"):
        found = cluster.condition(name)
        assert [found["status"], found["reason"], found["message"]] == ["False", "MemberHasTwoParents", said]
    assert cluster.condition("loop")["reason"] == "CyclicMembers"
    assert cluster.condition("rack-a")["status"] == "True"
    assert cluster.counts() == {"rack-a": 2, "rack-b": 1, "spine": 3, "thief": 0, "loop": 0}
    since = cluster.condition("spine")["lastTransitionTime"]
    cluster.delete("thief")
    await asyncio.sleep(5)
    await cluster.settle()
    assert cluster.condition("spine")["status"] == "True"
    assert cluster.condition("spine")["lastTransitionTime"] >= since


async def test_conditions_of_others_stay(cluster: Cluster) -> None:
    other = {"type": "Drained", "status": "True", "reason": "Maintenance", "message": "until 5 pm"}
    other["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    cluster.api.objects[f"{HYPER_NODES}/rack-a"]["status"] = {"conditions": [other]}
    cluster.see("rack-a")
    await cluster.settle()
    ours, theirs = sorted(
        cluster.api.objects[f"{HYPER_NODES}/rack-a"]["status"]["conditions"], key=lambda each: each["type"] != "Valid"
    )
    assert (ours["type"], theirs) == ("Valid", other)


async def test_what_another_client_writes_is_corrected(cluster: Cluster) -> None:
    await cluster.settle()
    raw = cluster.api.objects[f"{HYPER_NODES}/rack-a"]
    cluster.api.put(f"{HYPER_NODES}/rack-a", raw | {"status": {**raw["status"], "nodeCount": 99}})
    cluster.see("rack-a")
    await cluster.settle()
    assert cluster.counts()["rack-a"] == 2


async def test_without_the_lease_nothing_is_written_and_the_next_leader_writes_all(cluster: Cluster) -> None:
    cluster.leads = False
    await cluster.settle()
    assert cluster.api.requests == []
    cluster.leads = True
    cluster.controller.leadership_gained()
    await cluster.settle()
    assert cluster.counts() == {"rack-a": 2, "rack-b": 1, "spine": 3}


@pytest.mark.parametrize(
    "error",
    [UnreachableError("PATCH", HYPER_NODES, OSError("no route")), api_error("PATCH", HYPER_NODES, 409, b"{}")],
    ids=["away", "conflict"],
)
async def test_a_write_that_fails_is_tried_again(cluster: Cluster, error: Exception) -> None:
    cluster.api.refuse("PATCH", "spine", error, error)
    await cluster.settle()
    assert cluster.counts() == {"rack-a": 2, "rack-b": 1, "spine": 3}


async def test_one_that_is_gone_or_is_another_object_now_is_left_alone(cluster: Cluster) -> None:
    raw = cluster.api.objects.pop(f"{HYPER_NODES}/spine")
    await cluster.settle()
    assert cluster.counts() == {"rack-a": 2, "rack-b": 1}
    cluster.controller.replace("HyperNode", [converted(raw, HyperNode)])
    assert set(cluster.controller._hyper_nodes) == {"spine"}
    cluster.controller.replace("Node", [])
    await cluster.settle()
