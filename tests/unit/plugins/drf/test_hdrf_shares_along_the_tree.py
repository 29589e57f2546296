"""drf with enableHierarchy: shares of the nodes of the tree, and the order of queues that follows from them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.queues.hierarchy import placed_queue
from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.api.effects import Event
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.drf.layout import lay_out

GPU = "nvidia.com/gpu"
HDRF = (Drf, {"enableHierarchy": True})
PODS = "1000"  # so many that their places never are the dominant resource


def opened(*objects: Any, cpu: str, gpu: str = "0", pods: str = PODS) -> Opened:
    return open_session(
        node("n1", cpu=cpu, pods=pods, devices={GPU: gpu}), *objects, tiers=[[HDRF]], actions=[Allocate]
    )


def job(name: str, held: int, *, more: int = 10, gpu: bool = False, **fields: Any) -> list[Any]:
    """A job of its queue (of the same name) that holds `held` units and wants `more`."""
    asked: dict[str, Any] = {"devices": {GPU: "1"}} if gpu else {"cpu": "1"}
    count = held + more
    return gang(name, pods=count, min_member=1, queue=name, running_on=["n1"] * held, **{**asked, **fields})


def rank(session: Opened, *path: str) -> Any:
    """(saturated, share over weight) of a node."""
    return session.plugin(Drf).branch_order(path)


def share(session: Opened, queue: str) -> float:
    found: float = session.plugin(Drf).describe_queues()[queue]["share"]
    return found


def test_the_first_queue_that_passes_through_a_node_sets_its_weight() -> None:
    session = opened(
        placed_queue("prod", "root/eng/prod", "1/2/8", age=10), placed_queue("dev", "root/eng/dev", "1/5/3"), cpu="10"
    )
    layout = lay_out(session.ssn.queues.values())
    assert layout.paths["prod"] == ("eng", "prod")
    assert layout.weights[("eng",)] == 2
    assert (layout.weights[("eng", "prod")], layout.weights[("eng", "dev")]) == (8, 3)


def test_what_a_child_holds_of_an_exhausted_resource_does_not_count_for_its_parent() -> None:
    """n2 holds (10 CPU, 5 GPU): CPU is exhausted, so its share is that of GPU."""
    session = opened(
        placed_queue("a", "root/n2/a", "1/1/1"),
        placed_queue("b", "root/n2/b", "1/1/1"),
        job("a", 10),
        job("b", 5, gpu=True),
        cpu="10",
        gpu="10",
    )
    assert rank(session, "n2") == (False, 0.5)
    assert rank(session, "n2", "a") == (True, 1.0), "it can get no more; by all resources"
    assert rank(session, "n2", "b") == (False, 0.5)


def test_free_children_are_scaled_down_to_the_least_of_them() -> None:
    """(10, 0) at 0.5 counts as (4, 0) next to (0, 4) at 0.2."""
    session = opened(
        placed_queue("a", "root/n2/a", "1/1/1"),
        placed_queue("b", "root/n2/b", "1/1/1"),
        job("a", 10),
        job("b", 4, gpu=True),
        cpu="20",
        gpu="20",
    )
    assert rank(session, "n2") == (False, pytest.approx(0.2))


def test_the_scale_is_share_over_weight() -> None:
    """By 1 and 3: (2, 0) at 0.1 / 1 is the least, so (0, 12) at 0.6 / 3 counts as (0, 6)."""
    session = opened(
        placed_queue("a", "root/n/a", "1/1/1"),
        placed_queue("b", "root/n/b", "1/1/3"),
        job("a", 2),
        job("b", 12, gpu=True),
        cpu="20",
        gpu="20",
    )
    assert rank(session, "n") == (False, pytest.approx(0.3))


def test_a_job_that_has_all_it_asks_for_is_saturated_and_not_scaled() -> None:
    session = opened(placed_queue("a", "root/n/a", "1/1/1"), job("a", 4, more=0), cpu="20")
    assert rank(session, "n", "a") == (True, pytest.approx(0.2))
    assert rank(session, "n") == (True, pytest.approx(0.2))


def test_a_job_that_holds_nothing_keeps_its_queue_from_being_saturated() -> None:
    session = opened(
        placed_queue("a", "root/a", "1/1"), job("a", 4, more=0), gang("later", queue="a", cpu="1"), cpu="20"
    )
    assert rank(session, "a") == (False, pytest.approx(0.2))


def test_jobs_that_neither_hold_nor_want_anything_have_no_say() -> None:
    """A finished job would otherwise keep its queue from being saturated for as long as its PodGroup exists."""
    session = opened(
        placed_queue("a", "root/a", "1/1"),
        job("a", 4, more=0),
        gang("done", pods=0, queue="a", group_phase="Completed"),
        gang("gated", queue="a", cpu="1", gates=["example.com/wait"]),
        cpu="20",
    )
    assert rank(session, "a") == (True, pytest.approx(0.2))


def test_what_others_use_up_is_exhausted_too() -> None:
    foreign = gang("foreign", pods=2, running_on=["n1"] * 2, queue="unknown", cpu="3")
    session = opened(placed_queue("a", "root/a", "1/1"), job("a", 4), foreign, cpu="10")
    assert rank(session, "a") == (True, 1.0), "it has all that queues can share"


def test_the_saturated_come_last_whatever_their_share() -> None:
    session = opened(
        placed_queue("small", "root/small", "1/1"),
        placed_queue("large", "root/large", "1/1"),
        job("small", 1, more=0),
        job("large", 5),
        cpu="20",
    )
    assert rank(session, "large") < rank(session, "small")


def test_queues_are_compared_level_by_level_by_share_over_weight() -> None:
    """eng has .4 of weight 2, sci .3 of weight 1; inside eng prod has .1 / 1 and dev .3 / 4."""
    session = opened(
        placed_queue("prod", "root/eng/prod", "1/2/1"),
        placed_queue("dev", "root/eng/dev", "1/2/4"),
        placed_queue("sci", "root/sci", "1/1"),
        job("prod", 1),
        job("dev", 3),
        job("sci", 3),
        cpu="10",
    )
    order = queue_order(session.ssn, [session.ssn.queues[name] for name in ("sci", "prod", "dev")])
    assert [order.pop().name for _ in range(3)] == ["dev", "prod", "sci"]


def test_queues_without_a_path_stand_below_the_root_with_their_own_weight() -> None:
    session = opened(
        queue("plain", weight=2), placed_queue("plain-too", "root/plain", "1/1"), job("plain", 4), cpu="10"
    )
    assert session.plugin(Drf).queue_paths()["plain"] == ("plain/",), "not the node plain of the other queue"
    assert rank(session, "plain/") == (False, pytest.approx(0.2))
    assert share(session, "plain") == pytest.approx(0.4)


def test_queues_that_share_a_node_get_one_part_and_the_older_goes_first() -> None:
    session = opened(
        placed_queue("blue", "root/team", "1/1", age=10),
        placed_queue("green", "root/team", "1/1"),
        job("blue", 0, more=9),
        job("green", 0, more=9),
        placed_queue("other", "root/other", "1/1"),
        job("other", 0, more=9),
        cpu="8",
    )
    Allocate(None).execute(session.ssn)
    placed = [name.rpartition("-")[0] for name in session.binds]
    assert [placed.count(name) for name in ("blue", "green", "other")] == [4, 0, 4]


def test_turns_of_the_example_with_complementary_children() -> None:
    session = opened(
        placed_queue("n1", "root/n1", "100/50"),
        placed_queue("n2.1", "root/n2/n2.1", "100/50/50"),
        placed_queue("n2.2", "root/n2/n2.2", "100/50/50"),
        job("n1", 0, gpu=True),
        job("n2.1", 0),
        job("n2.2", 0, gpu=True),
        cpu="10",
        gpu="10",
        pods="110",
    )
    Allocate(None).execute(session.ssn)
    turns = [name.rpartition("-")[0] for name in session.binds]
    assert turns[:6] == ["n1", "n2.1", "n1", "n2.2", "n2.1", "n2.2"]
    assert turns[6:15] == ["n1", "n2.1", "n2.2"] * 3
    assert turns[15:] == ["n2.1"] * 5


def test_a_queue_that_breaks_the_tree_gets_an_event_and_others_go_on() -> None:
    session = opened(
        placed_queue("sci", "root/sci", "1/1", age=10),
        placed_queue("dev", "root/sci/dev", "1/1/1"),
        job("sci", 0),
        job("dev", 0),
        cpu="4",
    )
    assert session.ssn.ask.job_valid(session.job("sci")) is None
    refusal = session.ssn.ask.job_valid(session.job("dev"))
    assert refusal is not None
    assert refusal.message == (
        "queue dev: its path, root/sci/dev (annotation volcano.sh/hierarchy), leads through root/sci, the path of "
        "queue sci; only queues at the ends of paths can have jobs: give one of them another path"
    )


def test_what_is_wrong_with_a_place_is_reported_on_the_queue_with_or_without_jobs() -> None:
    session = opened(
        placed_queue("sci", "root/sci", "1/1", age=10),
        placed_queue("dev", "root/sci/dev", "1/1/1"),
        placed_queue("odd", "root/a/b", "1/2"),
        placed_queue("light", "root/light", "1/-2"),
        placed_queue("nan", "root/nan", "1/NaN"),
        cpu="4",
    )
    session.ssn.dispatch.life("on_session_close", session.ssn)
    found = [each for each in session.effects if isinstance(each, Event)]
    assert {(each.about.kind, each.type, each.reason) for each in found} == {("Queue", "Warning", "InvalidQueue")}
    reported = {each.about.name: each.message for each in found}
    assert reported.keys() == {"dev", "odd", "light", "nan"}
    assert "leads through root/sci, the path of queue sci" in reported["dev"]
    assert "'root/a/b' and '1/2' have different numbers of elements" in reported["odd"]
    assert "volcano.sh/hierarchy-weights: " in reported["light"]
    assert "NaN" in reported["nan"]


def test_the_older_queue_stays_whichever_path_is_longer() -> None:
    session = opened(
        placed_queue("dev", "root/sci/dev", "1/1/1", age=10),
        placed_queue("sci", "root/sci", "1/1"),
        placed_queue("science", "root/science", "1/1"),
        cpu="4",
    )
    assert set(lay_out(session.ssn.queues.values()).refused) == {"sci"}


def test_without_the_switch_queues_are_not_in_a_tree() -> None:
    session = open_session(node("n1"), placed_queue("a", "root/x/a", "1/1/1"), gang("j", queue="a"), tiers=[[Drf]])
    assert not session.ssn.dispatch.calls("queue_paths")
    assert session.plugin(Drf).describe_queues() == {}
    assert session.ssn.ask.branch_epoch() == 0
