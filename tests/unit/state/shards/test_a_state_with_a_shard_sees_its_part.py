"""A state with a shard: which nodes and jobs a cycle sees, and to which nodes pods may be assumed."""

from __future__ import annotations

from tests.support.shared_store import queue, single_pod
from tests.unit.state.watched import Watched, on
from volcano_py.api.objects import Node, NodeStatus, ObjectMeta
from volcano_py.api.shards.node_shards import TAKES_QUEUES, NodeShard, NodeShardSpec, NodeShardStatus
from volcano_py.api.shards.sharding import Sharding, ShardingMode
from volcano_py.state.table.change import Change


def node(name: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, uid=name), status=NodeStatus(allocatable={"cpu": "8", "pods": "10"}))


def shard(name: str, *in_use: str, takes_queues: bool = True) -> NodeShard:
    return NodeShard(
        metadata=ObjectMeta(name=name, uid=f"shard-{name}", labels={TAKES_QUEUES.key: "true"} if takes_queues else {}),
        spec=NodeShardSpec(nodes_desired=list(in_use)),
        status=NodeShardStatus(nodes_in_use=list(in_use)),
    )


def cluster(mode: ShardingMode = ShardingMode.HARD, *shards: NodeShard) -> Watched:
    found = Watched(sharding=Sharding("a", mode))
    found.put(node("n1"), node("n2"), *(shards or (shard("a", "n1"), shard("b", "n2"))))
    found.put(queue("ours", "a"), queue("theirs", "b"))
    for name, queue_name in (("mine", "ours"), ("others", "theirs")):
        found.put(*single_pod(name, queue_name, 2))
    found.quiet()
    return found


def test_only_nodes_in_use_are_there_for_a_hard_shard() -> None:
    watched = cluster()
    assert watched.existing() == {"n1"}
    watched.put(shard("a", "n1", "n2"))
    assert watched.reported() == [Change.DECISION]
    assert watched.existing() == {"n1", "n2"}
    watched.delete(shard("a"))
    assert watched.existing() == set()


def test_a_soft_shard_sees_all_nodes_and_knows_its_own() -> None:
    watched = cluster(ShardingMode.SOFT)
    view = watched.snapshot().shard
    assert watched.existing() == {"n1", "n2"}
    assert view is not None
    assert (view.home_of("n1"), view.home_of("n2"), view.home_of("n3")) == ("a", "b", "")


def test_a_node_that_comes_later_is_used_when_it_is_in_the_shard() -> None:
    watched = cluster(ShardingMode.HARD, shard("a", "n1", "n3"))
    watched.put(node("n3"), node("n4"))
    assert watched.existing() == {"n1", "n3"}


def test_a_node_outside_the_shard_keeps_its_row_without_pods() -> None:
    """Its labels count where pods of ours keep away from others in its zone."""
    watched = cluster()
    _, pod = single_pod("there", "theirs", 1)
    watched.put(on(pod, "n2"))
    watched.delete(pod)
    assert watched.nodes() == {"n1", "n2"}


def test_no_pod_is_assumed_on_a_node_that_has_left_the_shard() -> None:
    """A cycle may still decide on the picture from before."""
    watched = cluster()
    watched.put(shard("a"))
    assert not watched.state.assume_bound("mine", "n1", queue="ours")
    watched.put(shard("a", "n1"))
    assert watched.state.assume_bound("mine", "n1", queue="ours")


def test_nodes_are_awaited_until_the_bindings_are_confirmed() -> None:
    watched = cluster()
    nodes = frozenset({"n1", "n2"})
    assert watched.state.awaiting(nodes) == set()
    watched.state.assume_bound("mine", "n1", queue="ours")
    assert watched.state.awaiting(nodes) == {"n1"}
    assert watched.state.awaiting(frozenset({"n2"})) == set()
    watched.put(on(single_pod("mine", "ours", 2)[1], "n1"))
    assert watched.state.awaiting(nodes) == set()


def test_jobs_of_other_shards_queues_are_unknown_to_a_cycle() -> None:
    snapshot = cluster().snapshot()
    known = {snapshot.job_keys[row] for row in snapshot.ledger.jobs.known.nonzero()[0]}
    assert known == {"default/mine"}
    assert set(snapshot.queues) == {"ours"}
    assert "root" in snapshot.left_queues


def test_a_queue_that_is_assigned_elsewhere_takes_its_jobs_along() -> None:
    watched = cluster()
    assert watched.state.shard_of_queue("theirs") == "b"
    watched.put(queue("theirs", "a"))
    assert watched.reported() == [Change.DECISION]
    assert watched.state.shard_of_queue("theirs") == ""
    assert set(watched.snapshot().queues) == {"ours", "theirs"}


def test_a_queue_falls_to_the_shards_that_take_queues_when_its_own_is_gone() -> None:
    watched = cluster()
    watched.delete(shard("b"))
    assert watched.state.shard_of_queue("theirs") == ""


def test_decisions_about_what_rests_are_made_again_when_queues_change_their_shard() -> None:
    watched = cluster()
    before = watched.snapshot().queues_version
    watched.put(shard("b", "n2", takes_queues=False))
    assert watched.snapshot().queues_version > before


def test_sums_follow_from_the_pods_whatever_the_shard_sees() -> None:
    watched = cluster()
    watched.put(on(single_pod("others", "theirs", 2)[1], "n2", "Running"), shard("a"), shard("b"), shard("a", "n2"))
    watched.snapshot()
    assert watched.state.drift() == 0
