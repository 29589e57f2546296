"""What a shard claims next, as a function of what it and the others desire and use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.objects import ObjectMeta
from volcano_py.api.shards.node_shards import NodeShard, NodeShardSpec, NodeShardStatus
from volcano_py.state.shards.handover import ShardInfo, is_stated, next_claims, rivals, status_of, with_in_use

NODES = st.frozensets(st.sampled_from(["n1", "n2", "n3", "n4"]))
SHARDS = st.lists(st.sampled_from("bcd"), unique=True).flatmap(
    lambda names: st.tuples(*(st.builds(ShardInfo, st.just(name), NODES, NODES) for name in names))
)


def shard(name: str, desired: str = "", in_use: str = "") -> ShardInfo:
    return ShardInfo(name, frozenset(desired.split()), frozenset(in_use.split()))


def test_a_node_is_claimed_once_its_former_shard_has_let_go() -> None:
    former, heir = shard("a", "n1", "n1 n2"), shard("b", "n2", "")
    assert next_claims(heir, [former]) == set()
    assert next_claims(former, [heir]) == {"n1"}
    assert next_claims(heir, [shard("a", "n1", "n1")]) == {"n2"}


def test_a_node_is_not_let_go_while_pods_are_on_their_way_to_it() -> None:
    assert next_claims(shard("a", "", "n1 n2"), [], busy={"n1"}) == {"n1"}


def test_of_two_that_desire_a_free_node_the_first_by_name_has_it() -> None:
    one, two = shard("a", "n1"), shard("b", "n1")
    assert next_claims(one, [two]) == {"n1"}
    assert next_claims(two, [one]) == set()


def test_of_two_that_desire_a_node_the_one_that_uses_it_keeps_it() -> None:
    one, two = shard("a", "n1"), shard("b", "n1", "n1")
    assert next_claims(one, [two]) == set()
    assert next_claims(two, [one]) == {"n1"}


@given(own=st.builds(ShardInfo, st.just("a"), NODES, NODES), others=SHARDS, busy=NODES)
def test_nothing_is_claimed_that_another_shard_has(
    own: ShardInfo, others: tuple[ShardInfo, ...], busy: frozenset[str]
) -> None:
    new = next_claims(own, others, busy) - own.in_use
    assert not rivals(new, others)
    assert new <= own.desired


@given(desired=NODES, in_use=NODES)
def test_the_status_says_what_is_used_waited_for_and_still_held(
    desired: frozenset[str], in_use: frozenset[str]
) -> None:
    seen = NodeShard(metadata=ObjectMeta(name="a"), spec=NodeShardSpec(nodes_desired=sorted(desired)))
    status = with_in_use(seen, in_use).status
    assert status == NodeShardStatus(None, sorted(in_use), sorted(in_use - desired), sorted(desired - in_use))
    assert is_stated(status, status_of(desired, in_use))
    assert is_stated(NodeShardStatus(), status_of(desired, in_use)) == (not desired | in_use)
