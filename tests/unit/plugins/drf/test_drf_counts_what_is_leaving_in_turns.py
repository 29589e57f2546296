"""drf: pods in deletion count in the order of jobs, namespaces and queues until they are gone. Which pods others may
evict is worked out without them."""

from __future__ import annotations

from typing import Any

from tests.support.queues.hierarchy import placed_queue
from tests.support.queues.queue_trees import next_queue
from tests.support.sessions import Opened, PluginChoice, gang, node, open_session, pod
from volcano_py.plugins.drf import Drf

HIERARCHICAL: PluginChoice = (Drf, {"enableHierarchy": True})
NAMESPACES: PluginChoice = (Drf, {"enableNamespaceOrder": True})


def job(name: str, *, running: int, leaving: int = 0, **fields: Any) -> list[Any]:
    """A job of pods of 1 cpu: one that waits, and those that run or leave."""
    members = gang(name, pods=running + 1, min_member=1, cpu="1", running_on=["n1"] * running, **fields)
    namespace = {"namespace": fields["namespace"]} if "namespace" in fields else {}
    gone = [
        pod(f"{name}-gone-{index}", group=name, cpu="1", on="n1", deleting=True, **namespace)
        for index in range(leaving)
    ]
    return [*members, *gone]


def opened(plugin: PluginChoice, *objects: Any) -> Opened:
    return open_session(node("n1", cpu="32"), *objects, tiers=[[plugin]])


def test_between_jobs() -> None:
    session = opened(Drf, job("leaves", running=0, leaving=4), job("stays", running=2))
    drf = session.plugin(Drf)
    leaves, stays = (drf.job_order(session.job(name)) for name in ("leaves", "stays"))
    assert (leaves, stays) == (4 / 32, 2 / 32)


def test_between_namespaces() -> None:
    session = opened(
        NAMESPACES, job("leaves", running=0, leaving=4, namespace="one"), job("stays", running=2, namespace="two")
    )
    drf, queue = session.plugin(Drf), session.ssn.queues["default"]
    assert [drf.namespace_order(queue, name) for name in ("one", "two")] == [4 / 32, 2 / 32]


def test_between_queues_of_a_tree() -> None:
    session = opened(
        HIERARCHICAL,
        placed_queue("a", "root/a", "1/1"),
        placed_queue("b", "root/b", "1/1"),
        job("leaves", running=0, leaving=4, queue="a"),
        job("stays", running=2, queue="b"),
    )
    assert next_queue(session, "a", "b") == "b"


def test_what_has_been_placed_since_counts_in_addition() -> None:
    session = opened(
        HIERARCHICAL,
        placed_queue("a", "root/a", "1/1"),
        placed_queue("b", "root/b", "1/1"),
        job("leaves", running=0, leaving=1, queue="a"),
        job("other", running=1, queue="b"),
    )
    session.place("other", {"other-1": "n1"})
    assert next_queue(session, "a", "b") == "a", "1 of 32 against 2"
    session.place("leaves", {"leaves-0": "n1"})
    assert session.plugin(Drf).describe_queues()["a"]["share"] == 2 / 32


def test_a_queue_that_gives_already_is_not_asked_for_more() -> None:
    """a has 3 left of 6; b would have 3 with the pod that it seeks a place for."""
    session = opened(
        HIERARCHICAL,
        placed_queue("a", "root/a", "1/1"),
        placed_queue("b", "root/b", "1/1"),
        job("gives", running=3, leaving=3, queue="a"),
        job("takes", running=2, queue="b"),
    )
    tasks = session.rows("gives-0", "gives-1", "gives-2")
    assert not session.plugin(Drf).reclaimable(session.task("takes-2"), tasks).any()
