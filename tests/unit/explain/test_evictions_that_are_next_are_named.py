"""A job that is about to lose pods: the copy has evicted them, and the explanation says why."""

from __future__ import annotations

from tests.unit.explain.causes import DEFAULT, gang, node, queue, world_of
from tests.unit.explain.test_a_start_is_foreseen_where_ends_are_declared import runs
from volcano_py.explain.of_workload import explain_workload

RECLAIMING = DEFAULT.replace("allocate, backfill", "allocate, reclaim, backfill")
CLUSTER = node() + runs("keeps", "4") + runs("loses", "4") + queue("vision") + gang(1, "2", group="queue: vision")


def test_whoever_loses_pods_next_reads_for_whom_and_by_which_plugins() -> None:
    world = world_of(CLUSTER, RECLAIMING)
    loses, keeps = (explain_workload(world, "podgroup", f"default/{name}") for name in ("loses", "keeps"))
    [why] = loses.now.evictions
    assert why.startswith("default/loses-0 (priority 0) in queue default makes room for default/train-0 (priority 0)")
    assert "allowed by gang, proportion" in why
    assert keeps.now.evictions == ()


def test_what_a_trial_evicts_is_not_next() -> None:
    """The first explanation has tried remedies, among them the action reclaim."""
    world = world_of(CLUSTER, DEFAULT)
    assert "reclaim" in {each.kind for each in explain_workload(world, "podgroup", "default/train").remedies}
    assert explain_workload(world, "podgroup", "default/loses").now.evictions == ()
