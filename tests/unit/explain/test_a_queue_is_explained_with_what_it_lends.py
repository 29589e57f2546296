"""`explain queue`: who borrows from it, and what it can have back."""

from __future__ import annotations

from tests.unit.explain.causes import DEFAULT, TREE, gang, node, queue, world_of
from tests.unit.explain.test_jobs_that_run_instead_are_named_with_why_they_stay import holder
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.explain.of_queue import explain_queue

CAPACITY = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity}, {name: nodeorder}]
"""
QUEUES = queue("lender", "deserved: {cpu: '6'}") + queue("taker", "deserved: {cpu: '2'}")


def test_a_borrower_is_named_though_nothing_is_asked_for() -> None:
    found = explain_queue(world_of(node() + QUEUES + holder(of="taker"), CAPACITY), "lender")
    assert (found.lent, found.short) == ({"cpu": 6000}, {})
    assert [(each.queue, each.over, each.back) for each in found.borrowers] == [("taker", {"cpu": 6000}, {"cpu": 6000})]


def test_what_may_not_be_evicted_does_not_come_back() -> None:
    kept = holder(of="taker", meta="metadata: {name: holder, annotations: {volcano.sh/preemptable: 'false'}}")
    (borrower,) = explain_queue(world_of(node() + QUEUES + kept, CAPACITY), "lender").borrowers
    assert (borrower.over, borrower.back, borrower.reclaimable) == ({"cpu": 6000}, {}, True)


def test_nothing_comes_back_from_a_queue_that_is_not_reclaimable() -> None:
    queues = queue("lender", "deserved: {cpu: '6'}") + queue("taker", "deserved: {cpu: '2'}, reclaimable: false")
    (borrower,) = explain_queue(world_of(node() + queues + holder(of="taker"), CAPACITY), "lender").borrowers
    assert (borrower.over, borrower.back, borrower.reclaimable) == ({"cpu": 6000}, {}, False)


def test_nothing_comes_back_where_nothing_reclaims() -> None:
    world = world_of(node() + QUEUES + holder(of="taker"), CAPACITY.replace("reclaim, ", ""))
    found = explain_queue(world, "lender")
    assert found.note == "nothing is reclaimed: the configuration has no action reclaim"
    assert [each.back for each in found.borrowers] == [{}]


def test_a_queue_that_holds_what_it_deserves_lends_nothing() -> None:
    found = explain_queue(world_of(node() + QUEUES + holder("6", of="lender"), CAPACITY), "lender")
    assert (found.lent, found.borrowers) == ({}, ())


def test_a_queue_at_its_ceiling_reclaims_nothing_for_jobs_that_ask_for_more() -> None:
    """Places for pods are not divided, so none are reclaimed."""
    capped = queue("default", "capability: {cpu: '4'}") + queue("other", "capability: {cpu: '4'}")
    waiting = gang(1, "2") + gang(1, "8", group="queue: other").replace("train", "more")
    found = explain_queue(world_of(node() + capped + holder("4") + waiting, DEFAULT), "default")
    assert found.lent == {"memory": 2**30}
    assert found.note == (
        "it holds all the cpu that it may have: nothing is reclaimed for its jobs that ask for more of that"
    )
    assert not found.borrowers


def test_a_queue_below_its_ceiling_has_no_such_note() -> None:
    world = world_of(node() + QUEUES + holder(of="taker") + gang(1, "1", group="queue: lender"), CAPACITY)
    found = explain_queue(world, "lender")
    assert (found.lent, found.note) == ({"cpu": 5000}, "")


def test_places_for_pods_come_back_where_the_queue_says_so() -> None:
    queues = queue("lender", "deserved: {pods: '6'}")
    assert explain_queue(world_of(node() + queues, CAPACITY), "lender").lent == {"pods": 6}


def test_a_queue_without_a_place_in_the_tree_says_why() -> None:
    world = world_of(node() + queue("lost", "parent: nope") + queue("below", "parent: lost") + queue("fine"), TREE)
    why = "queue lost: spec.parent is nope, which does not exist; create it or name another queue"
    assert explain_queue(world, "lost").invalid == (why,)
    assert explain_queue(world, "below").invalid == (why,)
    assert explain_queue(world, "fine").invalid == ()
    assert list(drawn(explain_queue(world, "lost")))[1] == (
        "  InvalidQueue: queue lost: spec.parent is nope, which does not exist; create it or name another"
    )
