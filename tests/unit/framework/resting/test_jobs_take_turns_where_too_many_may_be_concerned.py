"""A cycle looks at as many of the jobs that rest as it can in a moment; the next ones look at the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.sessions import gang, node, priority_class, queue
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.state.watched import with_meta, with_spec
from volcano_py.api.effects import PodCondition
from volcano_py.api.objects import ApiObject
from volcano_py.framework.eviction.explaining import causes, kept_out
from volcano_py.framework.resting import looks

EVICTING = "enqueue, allocate, preempt, reclaim"
MANY = [f"w{number:02}" for number in range(20)]


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five or six of the jobs here."""
    monkeypatch.setattr(looks, "MOST", 5.0)
    monkeypatch.setattr(looks, "PER_PLACE", 0.0)
    monkeypatch.setattr(looks, "MOST_ON_NEW_GROUND", 10.0)


def _waiting(name: str, nth: int, queue_name: str) -> list[ApiObject]:
    return gang(name, cpu=f"{2000 + nth}m", age=100 - nth, queue=queue_name)


def settled(*, actions: str = EVICTING, cpu: str = "4", waiting_in: str = "default") -> Cluster:
    """Two nodes that are full, and twenty jobs that wait, each of which asks for something else."""
    cluster = Cluster(
        priority_class("high", 10),
        queue("other", capability={"cpu": "1"} if waiting_in == "other" else {}),
        *(node(name, cpu=cpu) for name in ("n1", "n2")),
        *gang("r1", cpu=cpu, running_on=["n1"], group_phase="Running"),
        *gang("r2", cpu=cpu, running_on=["n2"], group_phase="Running"),
        *(obj for nth, name in enumerate(MANY) for obj in _waiting(name, nth, waiting_in)),
        actions=actions,
        owner="capacity",
        more=", {name: priority}",
    )
    for _ in range(3):  # until what is written of them is known, too
        until_all_are_looked_at(cluster)
    return cluster


def something_runs_otherwise(cluster: Cluster) -> None:
    one = cluster.pod("r1-0")
    edits = int(one.metadata.labels.get("edits", "0")) + 1
    cluster.put(with_meta(one, labels={**one.metadata.labels, "edits": str(edits)}))


def until_all_are_looked_at(cluster: Cluster) -> list[set[str]]:
    """The jobs at which each cycle looks, until none is due."""
    found = []
    for report in cluster.cycles():
        found.append(set(Watcher.jobs))
        assert not report.look_again_at or 0 < report.look_again_at - report.started < 0.1
    return found


def test_a_cycle_looks_at_some_and_the_next_ones_at_the_others() -> None:
    cluster = settled()
    assert cluster.looked_at() == set()
    something_runs_otherwise(cluster)
    looked_at = until_all_are_looked_at(cluster)
    assert [len(jobs) for jobs in looked_at] == [6, 6, 6, 2]
    assert set().union(*looked_at) == set(MANY)
    assert sum(map(len, looked_at)) == len(MANY)
    assert cluster.looked_at() == set()


def test_those_that_are_not_looked_at_yet_are_reported_as_before() -> None:
    cluster = settled()
    before = cluster.cycle().pending
    something_runs_otherwise(cluster)
    assert cluster.cycle().pending == before
    assert not [effect for effect in cluster.sent if isinstance(effect, PodCondition)]


@pytest.mark.parametrize("phase", ["Inqueue", "Pending"])
def test_cycles_follow_until_each_says_why_nothing_is_evicted_for_it(
    monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """Only some are explained in a cycle; so it is with those that are not admitted."""
    for where in (causes, kept_out):
        monkeypatch.setattr(where, "_MOST_EXPLAINED", 5)
    cluster = Cluster(
        node("n1", cpu="4"),
        *gang("r1", cpu="4", running_on=["n1"], group_phase="Running"),
        *(
            obj
            for nth, name in enumerate(MANY)
            for obj in gang(name, cpu=f"{2000 + nth}m", min_resources={"cpu": f"{9000 + nth}m"}, group_phase=phase)
        ),
        actions="enqueue, allocate, preempt",
        owner="capacity",
        more=", {name: priority}, {name: overcommit}",
    )
    looked_at = until_all_are_looked_at(cluster)
    assert len(looked_at) >= 4
    explained = [job.message for job in cluster.cycle().pending if "reempt" in job.message]
    assert len(explained) == len(MANY)
    assert {job.phase for job in cluster.cycle().pending} == {phase}
    assert cluster.looked_at() == set()


def test_a_job_that_comes_or_changes_is_looked_at_at_once() -> None:
    cluster = settled()
    something_runs_otherwise(cluster)
    cluster.put(*gang("new", cpu="1500m"))
    one = cluster.pod("w19-0")
    cluster.put(with_spec(one, node_selector={"disk": "ssd"}))
    assert {"new", "w19"} <= cluster.looked_at()


def test_the_best_of_each_queue_come_first() -> None:
    cluster = settled(actions="enqueue, allocate, reclaim")
    cluster.put(queue("default", reclaimable=False))
    cluster.put(*gang("urgent", cpu="3900m", priority_class="high", priority=10, age=2))
    cluster.put(*gang("elsewhere", cpu="3900m", queue="other", age=1))
    for _ in range(3):
        until_all_are_looked_at(cluster)
    assert cluster.looked_at() == set()
    something_runs_otherwise(cluster)
    assert {"urgent", "elsewhere", "w00"} <= cluster.looked_at()


def test_while_something_changes_in_each_cycle_each_has_its_turn_and_the_first_are_looked_at_again() -> None:
    cluster = settled()
    looked_at = []
    for _ in range(10):
        something_runs_otherwise(cluster)
        looked_at.append(cluster.looked_at())
        cluster.now += 1
    assert set().union(*looked_at) == set(MANY)
    assert sum("w00" in jobs for jobs in looked_at) > 5


def test_where_there_is_room_for_many_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "PER_PLACE", 10.0)
    cluster = settled(actions="enqueue, allocate", cpu="60")
    cluster.state.delete("Pod", cluster.pod("r1-0"))
    cluster.cycle()
    assert len(cluster.bound()) == len(MANY)


def test_a_place_goes_to_the_first_in_order_however_many_wait_for_it() -> None:
    cluster = settled(actions="enqueue, allocate")
    cluster.state.delete("Pod", cluster.pod("r1-0"))
    cluster.cycle()
    assert cluster.bound() == ["w00-0"]


def test_jobs_that_were_skipped_as_a_whole_take_turns_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = settled(actions="enqueue, allocate", waiting_in="other")
    assert all("OverCapability" in job.message for job in cluster.cycle().pending)
    assert Watcher.jobs == set()
    monkeypatch.setattr(looks, "MOST", 1.0)
    something_runs_otherwise(cluster)
    assert [len(jobs) for jobs in until_all_are_looked_at(cluster)] == [6, 6, 6, 2]


def a_node_changes(cluster: Cluster) -> None:
    cluster.put(node("n2", cpu="4", labels={"disk": "ssd"}))


def a_queue_changes(cluster: Cluster) -> None:
    cluster.put(queue("other", capability={"cpu": "100"}))


def a_node_joins(cluster: Cluster) -> None:
    cluster.put(node("small", cpu="1"))


@pytest.mark.parametrize("change", [a_node_changes, a_queue_changes, a_node_joins])
@pytest.mark.parametrize("actions", [EVICTING, "enqueue, allocate"])
def test_after_a_change_of_nodes_or_queues_all_take_turns_of_which_the_first_is_larger(
    change: Callable[[Cluster], None], actions: str
) -> None:
    cluster = settled(actions=actions)
    change(cluster)
    looked_at = until_all_are_looked_at(cluster)
    assert [len(jobs) for jobs in looked_at] == [10, 6, 4]
    assert set().union(*looked_at) == set(MANY)
    until_all_are_looked_at(cluster)  # what has become of them is known now
    assert cluster.looked_at() == set()


def test_each_that_has_had_its_turn_says_how_many_nodes_there_are_now() -> None:
    cluster = settled()
    a_node_joins(cluster)
    said = [{job.name: job.message for job in report.pending} for report in cluster.cycles()]
    counts = [sum("3 nodes" in message for message in messages.values()) for messages in said]
    assert (counts[0], counts[-1]) == (10, 20)


def test_a_new_node_goes_to_the_first_in_order() -> None:
    cluster = settled()
    cluster.put(node("new", cpu="5"))
    cluster.cycle()
    assert cluster.bound() == ["w00-0", "w01-0"]


def test_a_pod_without_hope_takes_turns_too_and_then_rests() -> None:
    cluster = settled()
    cluster.put(*gang("nowhere", cpu="1", node_selector={"disk": "ssd"}, age=200))
    until_all_are_looked_at(cluster)
    a_queue_changes(cluster)
    assert any("nowhere" in jobs for jobs in until_all_are_looked_at(cluster))
    until_all_are_looked_at(cluster)
    something_runs_otherwise(cluster)
    assert not any("nowhere" in jobs for jobs in until_all_are_looked_at(cluster))
