"""proportion with enableHierarchy: turns of branches, ceilings above, mistakes in the tree, and what queues report."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.queues.queue_trees import jobs, queue, room, root
from tests.support.sessions import Objects, Opened, node, open_session, pod_group
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.effects import Event
from volcano_py.api.objects import Queue, QueueStatus
from volcano_py.api.reasons import Reason
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.framework.votes import Vote
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion import Proportion

IN_A_TREE = (Proportion, {"enableHierarchy": True})


def opened(*objects: Objects, cpu: int = 16, top: Queue | None = None) -> Opened:
    size = node("n1", cpu=str(cpu), memory="10Ti", pods="100000")
    tiers: list[list[Any]] = [[(Gang, {"enableReclaimable": False})], [IN_A_TREE]]
    return open_session(top or root(), size, *objects, tiers=tiers, actions=[Enqueue, Allocate])


def described(session: Opened, field: str) -> dict[str, float]:
    """Queue → cpus of that field, of those that have any."""
    facts = session.plugin(Proportion).describe_queues()
    return {name: each[field]["cpu"] / 1000 for name, each in facts.items() if each[field].get("cpu")}


def events(session: Opened) -> dict[str, list[str]]:
    """Queue → reasons and messages of the events of a cycle."""
    session.ssn.dispatch.life("on_session_close", session.ssn)
    found: dict[str, list[str]] = {}
    for event in session.effects:
        assert isinstance(event, Event)
        found.setdefault(event.about.name, []).append(f"{event.reason}: {event.message}")
    return found


def closed(name: str, parent: str = "") -> Queue:
    made = queue(name, parent)
    return Queue(metadata=made.metadata, spec=made.spec, status=QueueStatus(state="Closed"))


def test_before_the_first_queue_exists_there_is_nothing_to_divide() -> None:
    session = open_session(node("n1", cpu="4"), tiers=[[IN_A_TREE]], default_queue=False)
    assert not session.ssn.dispatch.failures.counts
    assert session.plugin(Proportion).describe_queues() == {}


# -- what queues report -----------------------------------------------------------------------------------------------


def test_a_queue_reports_what_the_queues_below_it_hold_ask_for_and_deserve() -> None:
    session = opened(
        queue("dept", capability=8),
        queue("one", "dept", weight=3),
        queue("two", "dept"),
        jobs("a", "one", 10, running=3),
        jobs("b", "two", 10, running=1),
    )
    assert described(session, "allocated") == {"root": 4, "dept": 4, "one": 3, "two": 1}
    assert described(session, "request") == {"root": 20, "dept": 20, "one": 10, "two": 10}
    assert described(session, "deserved") == {"root": 8, "dept": 8, "one": 6, "two": 2}
    assert described(session, "capability") == {"root": 16, "dept": 8, "one": 8, "two": 8}
    shares = {name: each["share"] for name, each in session.plugin(Proportion).describe_queues().items()}
    assert (shares["dept"], shares["one"], shares["two"]) == (0.5, 0.5, 0.5)


def test_what_is_placed_counts_for_every_queue_above_at_once() -> None:
    session = opened(queue("dept"), queue("team", "dept"), jobs("a", "team", 4, running=0))
    statement = session.place("a", {"a-0": "n1", "a-1": "n1"})
    accounts = session.plugin(Proportion)._accounts
    assert [accounts[name].held[0] for name in ("root", "dept", "team")] == [2000, 2000, 2000]
    statement.discard()
    assert [accounts[name].held[0] for name in ("root", "dept", "team")] == [0, 0, 0]


# -- turns ------------------------------------------------------------------------------------------------------------


def test_branches_take_turns_by_the_shares_of_their_tops() -> None:
    """busy holds 6 of 8, quiet 1 of 8; the team that holds nothing is in busy."""
    session = opened(
        queue("busy"),
        queue("full", "busy"),
        queue("empty", "busy"),
        queue("quiet"),
        queue("some", "quiet"),
        jobs("a", "full", 10, running=4),
        jobs("b", "empty", 10, running=0),
        jobs("c", "some", 10, running=1),
    )
    order = queue_order(session.ssn, [session.ssn.queues[name] for name in ("full", "empty", "some")])
    assert [order.pop().name for _ in range(3)] == ["some", "empty", "full"]


def test_priority_goes_before_the_tree() -> None:
    session = opened(queue("a"), queue("first", "a", priority=5), queue("b"), jobs("x", "first", 9, running=8))
    order = queue_order(session.ssn, [session.ssn.queues["b"], session.ssn.queues["first"]])
    assert order.pop().name == "first"


# -- ceilings ---------------------------------------------------------------------------------------------------------


def test_a_sibling_that_holds_too_much_leaves_no_room_below_their_parent() -> None:
    """dept deserves 8 by its capability; one holds all of them, of which it deserves 4 since two asks, too."""
    session = opened(
        queue("dept", capability=8),
        queue("one", "dept"),
        queue("two", "dept"),
        jobs("a", "one", 8),
        jobs("b", "two", 8, running=0),
    )
    found = room(session, "b-0")
    assert (found.count, found.ceiling) == (0, "dept")
    assert found.refusal is not None
    assert found.refusal.reason is Reason.OVER_CAPABILITY
    assert found.refusal.message.startswith("queue dept, above two: 8 cpu allocated + 1 asked > 8 capability; ")


def test_a_queue_above_is_held_to_what_it_deserves_as_well() -> None:
    """dept deserves 8 of 16 next to other; one, its only team at work, may take 8."""
    session = opened(
        queue("dept"), queue("one", "dept"), queue("other"), jobs("a", "one", 20, running=8), jobs("b", "other", 20)
    )
    found = room(session, "a-8")
    assert (found.count, found.ceiling) == (0, "dept")
    assert found.refusal is not None
    assert found.refusal.reason is Reason.OVER_DESERVED
    assert found.refusal.message.startswith("queue dept, above one: 8 cpu allocated + 1 asked > 8 deserved; ")


def test_roots_own_capability_is_a_ceiling_for_all() -> None:
    session = opened(queue("a"), jobs("x", "a", 16, running=4), top=root(capability=4))
    found = room(session, "x-4")
    assert (found.count, found.ceiling) == (0, "root")
    assert described(session, "deserved")["a"] == 4


def test_without_one_the_cluster_is_the_nodes_business() -> None:
    session = opened(queue("dept"), queue("a", "dept"), jobs("x", "a", 20, running=16))
    assert room(session, "x-16").count > 0


# -- enqueue ----------------------------------------------------------------------------------------------------------


def vote(session: Opened, job: str) -> tuple[Vote, str]:
    ballot = session.plugin(Proportion).job_enqueueable(session.job(job))
    return ballot.vote, ballot.refusal.message if ballot.refusal is not None else ""


def waiting(name: str, queue: str, cpu: int) -> list[Any]:
    return jobs(name, queue, cpu, running=0, min_resources={"cpu": str(cpu)}, group_phase="Pending")


def test_a_job_enters_only_as_far_as_every_queue_above_may_have() -> None:
    session = opened(queue("dept", capability=8), queue("a", "dept"), waiting("fits", "a", 8), waiting("large", "a", 9))
    assert vote(session, "fits")[0] is Vote.PERMIT
    found, message = vote(session, "large")
    assert found is Vote.REJECT
    assert message.startswith("queue dept, above a: 0 cpu allocated + 9 asked > 8 capability; ask for less")


def test_what_was_promised_to_a_sibling_counts() -> None:
    session = opened(
        queue("dept", capability=8), queue("a", "dept"), queue("b", "dept"), waiting("x", "a", 6), waiting("y", "b", 5)
    )
    session.plugin(Proportion).job_enqueued(session.job("x"))
    assert vote(session, "y")[1].startswith("queue dept, above b: 0 cpu allocated + 6 promised + 5 asked > 8")


def test_a_full_queue_above_does_not_keep_out_a_job_within_the_part_of_its_queue() -> None:
    """By weight b's part of dept's 8 is 4."""
    full = jobs("x", "a", 8, min_resources={"cpu": "8"})
    tree: list[Objects] = [queue("dept", capability=8), queue("a", "dept"), queue("b", "dept"), full]
    assert vote(opened(*tree, waiting("due", "b", 4)), "due")[0] is Vote.PERMIT
    assert vote(opened(*tree, waiting("more", "b", 5)), "more")[0] is Vote.REJECT


def test_a_job_without_pods_counts_for_what_its_queue_is_due() -> None:
    """dept deserves nothing while no pod asks for it; with the job's it would be 8 of 16, all of which other gives."""
    session = opened(
        queue("dept"), queue("a", "dept"), queue("other"), jobs("x", "other", 16), no_pods("due", "a", 8), cpu=16
    )
    proportion = session.plugin(Proportion)
    assert described(session, "deserved") == {"root": 16, "other": 16}
    assert proportion._could_reclaim(session.job("due"), [8000, 0, 8])[0] == 8000
    assert proportion._could_reclaim(session.job("due"), [9000, 0, 9])[0] == 0


def test_a_branch_within_its_part_could_give_nothing_to_others() -> None:
    """one holds 2 beyond its 4, but a 6 of its 8: b could have back the 6 that c has too much, two the 2 as well."""
    session = opened(
        queue("a"),
        queue("one", "a"),
        queue("two", "a"),
        queue("b"),
        queue("c"),
        jobs("x", "one", 6),
        no_pods("y", "two", 4),
        no_pods("z", "b", 4),
        jobs("w", "c", 14),
        cpu=20,
    )
    proportion = session.plugin(Proportion)
    assert proportion._could_reclaim(session.job("z"), [4000, 0, 4])[0] == 6000
    assert proportion._could_reclaim(session.job("y"), [4000, 0, 4])[0] == 8000


def no_pods(name: str, queue: str, cpu: int) -> Any:
    """A job that waits for admission, and whose pods do not exist yet."""
    return pod_group(name, queue=queue, min_member=cpu, min_resources={"cpu": str(cpu)}, phase="Pending")


def test_guarantees_next_to_a_branch_are_named() -> None:
    session = opened(
        queue("dept"), queue("a", "dept"), queue("kept", deserved=10, guarantee=10), waiting("x", "a", 7), cpu=16
    )
    assert "> 6 left by other queues' guarantees (kept: 10 cpu)" in vote(session, "x")[1]


# -- mistakes in the tree ---------------------------------------------------------------------------------------------


def test_a_missing_parent_is_reported_on_the_queue_that_names_it() -> None:
    session = opened(queue("x", "gone"), queue("y", "x"), jobs("j", "y", running=0))
    assert events(session) == {
        "x": ["InvalidQueue: queue x: spec.parent is gone, which does not exist; create it or name another queue"]
    }
    refusal = session.ssn.ask.job_valid(session.job("j"))
    assert refusal is not None
    assert refusal.message.startswith("queue y: is below queue x, which is invalid: spec.parent is gone")


def test_a_job_in_an_inner_queue_waits_and_the_queue_says_so() -> None:
    session = opened(queue("dept"), queue("team", "dept"), jobs("stray", "dept", running=0))
    only_leaves = "jobs run only in leaf queues; recreate its jobs in one of those"
    assert events(session) == {"dept": [f"InvalidQueue: queue dept: has queues below it (team), and {only_leaves}"]}
    assert room(session, "stray-0").count == 0
    assert not session.ssn.ask.preemptive(session.ssn.queues["dept"], session.rows("stray-0"))


def test_a_capability_above_the_parents_and_guarantees_beyond_its_own_are_reported() -> None:
    found = events(
        opened(
            queue("dept", capability=8, guarantee=2), queue("a", "dept", capability=9), queue("b", "dept", guarantee=3)
        )
    )
    assert found == {
        "a": [
            (
                "ExceedsParent: queue a: spec.capability is 9 cpu, but queue dept above it may have 8 cpu at most, "
                "which applies; lower one or raise the other"
            )
        ],
        "dept": [
            (
                "ExceedsParent: queue dept: spec.guarantee is 2 cpu, the queues below it have 3 cpu together (b: 3 "
                "cpu); lower theirs or raise its own"
            )
        ],
    }


def test_what_is_deserved_is_not_compared_as_it_is_not_used() -> None:
    assert not events(opened(queue("dept", deserved=1), queue("a", "dept", deserved=9)))


def test_pods_in_a_queue_without_a_place_stay_and_the_rest_is_divided() -> None:
    """4 of 16 are held by what lost its place: a and b deserve 6 each, and none of the 4 is reclaimed."""
    session = opened(
        queue("lost", "gone"),
        queue("a"),
        queue("b"),
        jobs("old", "lost", 4),
        jobs("x", "a", 20, running=12),
        jobs("y", "b", 20, running=0),
    )
    assert described(session, "deserved") == {"root": 16, "a": 6, "b": 6}
    victims = session.victims("reclaimable", "y-0", session.running("old", "x"))
    assert [name.partition("-")[0] for name in victims] == ["x"] * 6


@pytest.mark.parametrize("where", ["dept", "team"])
def test_below_a_closed_queue_nothing_starts(where: str) -> None:
    tree = {"dept": queue("dept"), "team": queue("team", "dept")}
    tree[where] = closed(where, "dept" if where == "team" else "")
    session = opened(tree["dept"], tree["team"], jobs("x", "team", running=0), waiting("y", "team", 1))
    found = room(session, "x-0")
    assert found.refusal is not None
    assert found.refusal.reason is Reason.QUEUE_CLOSED
    assert f"queue {where} is Closed" in found.refusal.message
    assert vote(session, "y")[0] is Vote.REJECT
    assert not session.ssn.ask.preemptive(session.ssn.queues["team"], session.rows("x-0"))


# -- reclaim ----------------------------------------------------------------------------------------------------------


def test_a_branch_that_holds_no_more_than_it_deserves_gives_nothing_to_others() -> None:
    """one holds 6 of its 4, but a holds 6 of its 8; b, which is not beyond its 8 either, would get nothing of it."""
    session = opened(
        queue("a"),
        queue("one", "a"),
        queue("two", "a"),
        queue("b"),
        jobs("x", "one", 6),
        jobs("y", "two", 6, running=0),
        jobs("z", "b", 10, running=7),
    )
    assert session.victims("reclaimable", "z-7", session.running("x")) == []
    assert len(session.victims("reclaimable", "y-0", session.running("x"))) == 2


def test_a_guarantee_of_a_queue_above_is_not_lost_to_others() -> None:
    """a holds 9 of its 8 and is guaranteed 9 itself: nothing of it goes to b, some of it to the team beside."""
    session = opened(
        queue("a", guarantee=9),
        queue("one", "a"),
        queue("two", "a"),
        queue("b"),
        jobs("x", "one", 9),
        jobs("y", "two", 9, running=0),
        jobs("z", "b", 20, running=7),
    )
    assert session.victims("reclaimable", "z-7", session.running("x")) == []
    assert session.victims("reclaimable", "y-0", session.running("x")) != []


def test_siblings_lose_first() -> None:
    session = opened(queue("a"), queue("one", "a"), queue("two", "a"), queue("b"), jobs("y", "two", running=0))
    queues = [session.ssn.queues[name] for name in ("b", "one")]
    assert [each.name for each in session.ssn.ask.victim_queues(queues, session.task("y-0"))] == ["one", "b"]
