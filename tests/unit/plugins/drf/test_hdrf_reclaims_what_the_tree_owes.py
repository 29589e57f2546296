"""drf with enableHierarchy: which queues may reclaim from which. There is no action here; victims are taken singly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.queues.hierarchy import placed_queue
from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.plugins.drf import Drf

GPU = "nvidia.com/gpu"
TIERS = [[(Drf, {"enableHierarchy": True})]]


def reclaim(session: Opened, reclaimers: list[str], victims: list[str]) -> int:
    """Pods evicted when one pod after the other takes the first victim it is offered, and its place."""
    evicted = 0
    for pod in reclaimers:
        offered = session.victims("reclaimable", pod, session.running(*victims))
        if not offered:
            break
        statement = session.evict(offered[0])
        session.pipeline(pod.rpartition("-")[0], {pod: "n1"}, statement)
        statement.commit()
        evicted += 1
    return evicted


def singles(queue: str, count: int, **fields: Any) -> list[Any]:
    return [gang(f"{queue}s{number}", queue=queue, cpu="1", **fields) for number in range(count)]


def one_job(queue: str, count: int, **fields: Any) -> list[Any]:
    return gang(queue, pods=count, min_member=1, queue=queue, cpu="1", **fields)


@pytest.mark.parametrize(
    ("q1_in_one_job", "q2_in_one_job"),
    [(False, False), (True, True), (True, False), (False, True)],
    ids=["singles", "one job each", "one job against singles", "singles against one job"],
)
@pytest.mark.parametrize(("weight", "expected"), [("1", 5), ("3", 7)])
def test_how_pods_are_split_into_jobs_makes_no_difference(
    q1_in_one_job: bool, q2_in_one_job: bool, weight: str, expected: int
) -> None:
    """10 CPUs are q1's. With equal weights the fifth pod makes both equal, and a sixth would compare .6 with .4."""
    running = one_job("q1", 10, running_on=["n1"] * 10) if q1_in_one_job else singles("q1", 10, running_on=["n1"])
    pending = one_job("q2", 10) if q2_in_one_job else singles("q2", 10)
    session = open_session(
        node("n1", cpu="10"),
        placed_queue("q1", "root/q1", "1/1"),
        placed_queue("q2", "root/q2", f"1/{weight}"),
        running,
        pending,
        tiers=TIERS,
    )
    reclaimers = [f"q2-{n}" if q2_in_one_job else f"q2s{n}-0" for n in range(10)]
    victims = ["q1"] if q1_in_one_job else [f"q1s{n}" for n in range(10)]
    assert reclaim(session, reclaimers, victims) == expected


def test_a_blocked_sibling_does_not_keep_a_queue_from_reclaiming() -> None:
    """n1 holds all GPUs; n2.1 all CPUs, so that n2 has everything of something, but that is not what n2.2 asks for."""
    session = open_session(
        node("n1", cpu="10", devices={GPU: "10"}),
        placed_queue("n1", "root/n1", "100/50"),
        placed_queue("n2.1", "root/n2/n2.1", "100/50/50"),
        placed_queue("n2.2", "root/n2/n2.2", "100/50/50"),
        gang("n1", pods=10, min_member=1, queue="n1", running_on=["n1"] * 10, devices={GPU: "1"}),
        gang("n21", pods=15, min_member=1, queue="n2.1", running_on=["n1"] * 10, cpu="1"),
        gang("n22", pods=10, min_member=1, queue="n2.2", devices={GPU: "1"}),
        tiers=TIERS,
    )
    assert reclaim(session, [f"n22-{n}" for n in range(10)], ["n1"]) == 5


def test_sides_that_tie_pass_nothing_on_that_does_not_count_in_their_shares() -> None:
    """Each holds five of the CPUs. Were q2 given some of q1's memory, q1 could ask for it in turn, and so on."""
    session = open_session(
        node("n1", cpu="11", memory="10Gi"),
        placed_queue("q1", "root/q1", "1/1"),
        placed_queue("q2", "root/q2", "1/1"),
        one_job("q1", 5, running_on=["n1"] * 5),
        one_job("q2", 5, running_on=["n1"] * 5),
        gang("light", pods=4, min_member=1, queue="q1", memory="1Gi", running_on=["n1"] * 4),
        gang("want", queue="q2", memory="1Gi"),
        tiers=TIERS,
    )
    assert session.victims("reclaimable", "want-0", session.running("light")) == []
    assert session.victims("reclaimable", "want-0", session.running("q1")) == []


def test_sides_are_compared_where_the_paths_part() -> None:
    """eng as a whole has less than its part, so dev may take from sci; but not from prod, which has as much as dev."""
    session = open_session(
        node("n1", cpu="12"),
        placed_queue("dev", "root/eng/dev", "1/2/1"),
        placed_queue("prod", "root/eng/prod", "1/2/1"),
        placed_queue("sci", "root/sci", "1/1"),
        gang("dev", pods=4, min_member=1, queue="dev", cpu="1", running_on=["n1"] * 3),
        gang("prod", pods=3, min_member=1, queue="prod", cpu="1", running_on=["n1"] * 3),
        gang("sci", pods=6, min_member=1, queue="sci", cpu="1", running_on=["n1"] * 6),
        tiers=TIERS,
    )
    assert len(session.victims("reclaimable", "dev-3", session.running("sci"))) == 6, "each is judged alone"
    assert session.victims("reclaimable", "dev-3", session.running("prod")) == []


@pytest.mark.parametrize("asked", ["poor first", "rich first"])
def test_of_jobs_that_ask_for_as_much_each_is_judged_by_what_it_holds(asked: str) -> None:
    """Both count as two CPUs, the least of them: without a pod of `rich` still, without one of `poor` as one."""
    session = loose(rich=5, poor=2)
    order = ["poor", "rich"] if asked == "poor first" else ["rich", "poor"]
    assert session.victims("reclaimable", "want-0", session.running(*order)) == [f"rich-{n}" for n in range(5)]


def test_a_queue_that_has_less_gives_nothing_though_it_counted_for_more_without_a_pod() -> None:
    """Without its pod `poor` is no measure for `rich` any more, and five CPUs are more than the three asked for."""
    session = loose(rich=5, poor=1)
    assert session.victims("reclaimable", "want-0", session.running("rich", "poor")) == []


def loose(**held: int) -> Opened:
    """Nothing is used up. Jobs of q1 hold so many CPUs of ten that each asks for; q2 asks for three."""
    return open_session(
        node("n1", cpu="100"),
        placed_queue("q1", "root/q1", "1/1"),
        placed_queue("q2", "root/q2", "1/1"),
        *[
            gang(name, pods=10, min_member=1, queue="q1", cpu="1", running_on=["n1"] * count)
            for name, count in held.items()
        ],
        gang("want", queue="q2", cpu="3"),
        tiers=TIERS,
    )


def test_a_victim_could_not_take_it_back() -> None:
    session = open_session(
        node("n1", cpu="10"),
        placed_queue("q1", "root/q1", "1/1"),
        placed_queue("q2", "root/q2", "1/1"),
        one_job("q1", 10, running_on=["n1"] * 10),
        gang("back", queue="q1", cpu="1"),
        one_job("q2", 10),
        tiers=TIERS,
    )
    assert reclaim(session, [f"q2-{n}" for n in range(5)], ["q1"]) == 5
    taken = session.rows(*(f"q2-{n}" for n in range(5)))
    assert session.victims("reclaimable", "back-0", taken) == []


def test_asking_leaves_no_trace() -> None:
    session = open_session(
        node("n1", cpu="10"),
        placed_queue("q1", "root/q1", "1/1"),
        placed_queue("q2", "root/q2", "1/1"),
        one_job("q1", 10, running_on=["n1"] * 10),
        one_job("q2", 10),
        tiers=TIERS,
    )
    before = [session.plugin(Drf).branch_order((name,)) for name in ("q1", "q2")]
    first = session.victims("reclaimable", "q2-0", session.running("q1"))
    assert len(first) == 10
    assert session.victims("reclaimable", "q2-0", session.running("q1")) == first
    assert [session.plugin(Drf).branch_order((name,)) for name in ("q1", "q2")] == before


def test_jobs_of_queues_that_have_no_place_in_the_tree_neither_reclaim_nor_are_reclaimed() -> None:
    session = open_session(
        node("n1", cpu="10"),
        placed_queue("q1", "root/q1", "1/1", age=10),
        placed_queue("lost", "root/q1/lost", "1/1/1"),
        one_job("q1", 6, running_on=["n1"] * 5),
        gang("lost", pods=6, min_member=1, queue="lost", cpu="1", running_on=["n1"] * 5),
        tiers=TIERS,
    )
    assert session.victims("reclaimable", "lost-5", session.running("q1")) == []
    assert session.victims("reclaimable", "q1-5", session.running("lost")) == []


def test_a_closed_queue_takes_nothing_from_others() -> None:
    session = open_session(
        node("n1", cpu="10"),
        placed_queue("q1", "root/q1", "1/1", state="Closed"),
        placed_queue("q2", "root/q2", "1/1"),
        one_job("q1", 1),
        tiers=TIERS,
    )
    queues, rows = session.ssn.queues, session.rows("q1-0")
    assert not session.ssn.ask.preemptive(queues["q1"], rows)
    assert session.ssn.ask.preemptive(queues["q2"], rows)


def test_its_word_holds_in_whatever_tier_it_stands() -> None:
    assert "reclaimable" in Drf.guards
