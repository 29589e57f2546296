"""Which shard decides the jobs of a queue: one for all queues below one root queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.state.shards.division import root_of, shard_of, shards_of
from volcano_py.state.shards.handover import ShardInfo

PARENTS = {
    "eng": "root",
    "prod": "eng",
    "batch": "prod",
    "sci": "",
    "x": "y",
    "y": "z",
    "z": "x",
    "own": "own",
    "lost": "gone",
}


def takers(*names: str) -> dict[str, ShardInfo]:
    return {name: ShardInfo(name, takes_queues=True) for name in names}


@pytest.mark.parametrize(
    ("queue", "root"),
    [("batch", "eng"), ("eng", "eng"), ("sci", "sci"), ("unknown", "unknown"), ("lost", "gone"), ("own", "own")],
)
def test_the_root_queue_is_the_one_directly_below_root(queue: str, root: str) -> None:
    assert root_of(queue, lambda name: PARENTS.get(name, "")) == root


@pytest.mark.parametrize("queue", ["x", "y", "z"])
def test_queues_in_a_cycle_go_together(queue: str) -> None:
    assert root_of(queue, lambda name: PARENTS.get(name, "")) == "x"


def test_the_annotation_decides_where_its_shard_exists() -> None:
    shards = {**takers("a", "b"), "spare": ShardInfo("spare")}
    assert shard_of("eng", "spare", shards) == "spare"
    assert shard_of("eng", "typo", shards) == shard_of("eng", "", shards) in {"a", "b"}


def test_without_shards_that_take_queues_any_scheduler_decides() -> None:
    """As with Volcano's NodeShards, where the scheduler name alone says whose a job is."""
    assert shard_of("eng", "", {"volcano": ShardInfo("volcano"), "agent-scheduler": ShardInfo("agent-scheduler")}) == ""


def test_all_queues_of_a_tree_have_the_shard_of_its_root() -> None:
    assigned = {"eng": "b", "batch": "a"}
    found = shards_of(
        ["batch", "prod", "eng"],
        lambda name: PARENTS.get(name, ""),
        lambda name: assigned.get(name, ""),
        takers("a", "b"),
    )
    assert found == {"batch": "b", "prod": "b", "eng": "b"}


@given(
    st.lists(st.text(min_size=1), min_size=1, unique=True),
    st.sets(st.sampled_from("abcdef"), min_size=1),
    st.sampled_from("abcdef"),
)
def test_a_shard_that_comes_or_goes_moves_only_its_own_queues(roots: list[str], names: set[str], other: str) -> None:
    with_it, without = takers(*names | {other}), takers(*names - {other})
    for root in roots:
        if without and shard_of(root, "", with_it) != other:
            assert shard_of(root, "", with_it) == shard_of(root, "", without)


def test_queues_are_spread_over_the_shards() -> None:
    shards = takers(*"abcdefghij")
    found = [shard_of(f"team-{number}", "", shards) for number in range(1000)]
    assert all(60 < found.count(name) < 140 for name in shards)
