"""Before a node is taken over, the pods on it are read: its former scheduler may have bound them just now."""

from __future__ import annotations

from typing import Any, cast

from tests.support.sessions import node, pod
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.daemon.pods_of_nodes import PodsOfNodes
from volcano_py.state.cluster_state import ClusterState


class Cluster:
    """The client and the informers, as far as they are used; each pod is on the node of its name."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self.selected: list[str] = []
        self.relisted: list[str] = []
        self.pods = PodsOfNodes(cast(Any, self), self.state, learn=self._learn, informers=lambda: cast(Any, self))

    async def list(self, _path: Any, kind: type[Pod], params: dict[str, str]) -> list[Pod]:
        assert kind is Pod
        name = params["fieldSelector"].partition("=")[2]
        self.selected.append(name)
        return [pod(name, on=name)]

    async def relist(self, kind: str) -> None:
        self.relisted.append(kind)

    def _learn(self, kind: str, obj: ApiObject) -> None:
        self.state.upsert(kind, obj)


async def test_the_pods_of_a_few_nodes_are_read_one_by_one() -> None:
    cluster = Cluster()
    await cluster.pods.catch_up(frozenset({"n1", "n2"}))
    assert sorted(cluster.selected) == ["n1", "n2"]
    assert sum(cluster.state.has_pod(pod(name).metadata.uid) for name in ("n1", "n2")) == 2
    assert not cluster.relisted


async def test_for_many_nodes_all_pods_are_listed() -> None:
    cluster = Cluster()
    await cluster.pods.catch_up(frozenset(f"n{number}" for number in range(51)))
    assert cluster.relisted == ["Pod"]
    assert not cluster.selected


async def test_pods_that_were_handed_over_are_on_their_way() -> None:
    cluster = Cluster()
    cluster.state.upsert("Node", node("n1"))
    waiting = pod("a")
    cluster.state.upsert("Pod", waiting)
    assert cluster.state.assume_bound(waiting.metadata.uid, "n1")
    assert cluster.pods.awaiting(frozenset({"n1", "n2"})) == {"n1"}
