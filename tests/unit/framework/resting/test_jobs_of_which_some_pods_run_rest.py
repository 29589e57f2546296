"""A job that is complete rests with those of its pods that still wait, while the others stay where they are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import gang, node, priority_class, queue
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.state.watched import with_status
from volcano_py.api.effects import PodGroupStatusUpdate
from volcano_py.api.objects import ApiObject
from volcano_py.api.reasons import Reason
from volcano_py.framework.resting import looks


def elastic(name: str, on: str, **fields: Any) -> list[ApiObject]:
    """A job of three pods whose minimum is one: one runs."""
    return gang(name, pods=3, min_member=1, running_on=[on], cpu="2", group_phase="Running", **fields)


def settled(*objects: ApiObject, **fields: Any) -> Cluster:
    """Two full nodes: on each runs one pod of an elastic job, and one of another job."""
    cluster = Cluster(
        *(node(name, cpu="4") for name in ("n1", "n2")),
        *elastic("e1", "n1"),
        *elastic("e2", "n2"),
        *gang("r1", cpu="2", running_on=["n1"], group_phase="Running"),
        *gang("r2", cpu="2", running_on=["n2"], group_phase="Running"),
        *objects,
        **fields,
    )
    cluster.settle()
    return cluster


def test_in_a_full_cluster_they_are_not_looked_at_and_reported_all_the_same() -> None:
    cluster = settled()
    report = cluster.cycle()
    assert Watcher.jobs == set()
    assert [(job.name, job.phase, job.pending) for job in report.pending] == [
        ("team/e1", "Running", 2),
        ("team/e2", "Running", 2),
    ]
    assert {job.reason for job in report.pending} == {Reason.NODES_REFUSE}


def test_a_place_that_becomes_free_goes_to_the_first_of_them() -> None:
    cluster = settled()
    cluster.state.delete("Pod", cluster.pod("r1-0"))
    cluster.cycle()
    assert cluster.bound() == ["e1-1"]


def test_one_wakes_when_one_of_its_pods_ends() -> None:
    cluster = settled()
    cluster.put(with_status(cluster.pod("e2-0"), phase="Succeeded"))
    cluster.cycle()
    assert "e2" in Watcher.jobs


def test_a_gang_that_is_not_complete_rests_until_there_is_room_for_the_others() -> None:
    half = gang("half", pods=2, running_on=["n3"], cpu="1", group_phase="Running")
    cluster = settled(node("n3", cpu="1"), *half, more=", {name: priority}")
    assert cluster.looked_at() == set()
    cluster.state.delete("Pod", cluster.pod("r1-0"))
    cluster.cycle()
    assert "half-1" in cluster.bound()


def test_a_gang_that_is_not_complete_rests_until_any_change_if_it_is_not_known_what_it_waits_for() -> None:
    half = gang("half", pods=2, running_on=["n3"], cpu="1", group_phase="Running")
    cluster = settled(node("n3", cpu="1"), *half, more=", {name: talker}")
    assert "half" in cluster.looked_at_after_any_change()


def test_one_that_loses_a_pod_is_looked_at_in_the_next_cycle() -> None:
    cluster = Cluster(
        priority_class("high", 10),
        node("n1", cpu="4"),
        *gang("e", pods=3, min_member=1, running_on=["n1", "n1"], cpu="2", group_phase="Running"),
        actions="enqueue, allocate, preempt",
        owner="capacity",
        more=", {name: priority}",
    )
    cluster.settle()
    assert cluster.looked_at() == set()
    cluster.put(*gang("urgent", cpu="2", priority_class="high", priority=10))
    report = cluster.cycle()
    assert (report.evictions, Watcher.jobs) == (1, {"urgent"})
    assert "e" in cluster.looked_at()
    leaving = [effect.running for effect in cluster.sent if isinstance(effect, PodGroupStatusUpdate)]
    assert leaving


def test_many_of_them_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    more = [each for number in range(10) for each in elastic(f"f{number}", "n4", queue="other")]
    cluster = settled(queue("other", capability={"cpu": "20"}), node("n4", cpu="20"), *more)
    cluster.settle()
    monkeypatch.setattr(looks, "MOST", 0.5)
    assert len(cluster.looked_at_after_any_change()) < 10


def test_where_many_take_turns_gangs_that_are_not_complete_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    half = gang("half", pods=2, running_on=["n3"], cpu="1", group_phase="Running", age=1)
    many = [each for number in range(10) for each in gang(f"m{number}", cpu=f"{number + 2}", age=50)]
    cluster = settled(node("n3", cpu="1"), *half, *many, more=", {name: talker}")
    monkeypatch.setattr(looks, "MOST", 2.0)
    looked_at = cluster.looked_at_after_any_change()
    assert "half" in looked_at
    assert len(looked_at) < 6
