"""What the state makes of pods as they are listed, watched and deleted."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import node, pod, pod_group, queue
from tests.unit.state.watched import Watched, as_status, deleted, on, with_meta, with_spec
from volcano_py.state.status import TaskStatus


@pytest.mark.parametrize(
    ("phase", "node_name", "being_deleted", "status"),
    [
        pytest.param("Running", "n1", True, TaskStatus.RELEASING, id="running, being deleted"),
        pytest.param("Running", "n1", False, TaskStatus.RUNNING, id="running"),
        pytest.param("Pending", "n1", True, TaskStatus.RELEASING, id="bound, being deleted"),
        pytest.param("Pending", "", True, TaskStatus.RELEASING, id="unbound, being deleted"),
        pytest.param("Pending", "", False, TaskStatus.PENDING, id="pending"),
        pytest.param("Pending", "n1", False, TaskStatus.BOUND, id="bound"),
        pytest.param("Unknown", "n1", False, TaskStatus.UNKNOWN, id="unknown"),
        pytest.param("Succeeded", "n1", False, TaskStatus.SUCCEEDED, id="succeeded"),
        pytest.param("Failed", "n1", False, TaskStatus.FAILED, id="failed"),
    ],
)
def test_the_status_of_a_task_follows_from_the_pod(
    phase: str, node_name: str, being_deleted: bool, status: TaskStatus
) -> None:
    seen = on(pod("a", group="g", cpu="1"), node_name, phase)
    watched = Watched(node("n1"), pod_group("g"), deleted(seen) if being_deleted else seen)
    assert watched.status("a") is status


def test_pods_of_others_count_only_where_they_take_room() -> None:
    watched = Watched(
        node("n1"),
        pod("waits", scheduler="default-scheduler", cpu="1"),
        pod("runs", scheduler="default-scheduler", cpu="2", on="n1"),
        pod("done", scheduler="default-scheduler", cpu="4", on="n1", phase="Succeeded"),
    )
    assert watched.pods() == {"runs"}
    assert watched.on_node("n1") == {"cpu": 2000}


def test_our_pods_without_a_group_take_room_and_belong_to_no_job() -> None:
    watched = Watched(node("n1"), pod("a", cpu="1", on="n1"), pod("b", cpu="1"))
    assert watched.pods() == {"a", "b"}
    assert not any(watched.snapshot().job_keys)


def test_every_scheduler_name_of_ours_counts_and_no_other() -> None:
    ours = pod("a", group="g", scheduler="volcano-trial")
    watched = Watched(ours, pod("b", group="g"), scheduler_names=["volcano-trial"])
    assert watched.pods() == {"a"}


def test_a_finished_pod_leaves_its_node_at_once_and_stays_in_its_job() -> None:
    runs = pod("a", group="g", cpu="1", on="n1")
    watched = Watched(node("n1"), pod_group("g"), runs)
    watched.put(as_status(runs, "Succeeded"))
    assert watched.on_node("n1") == {}
    assert watched.counts("g") == {TaskStatus.SUCCEEDED: 1}


def test_a_finished_pod_of_no_job_is_forgotten() -> None:
    runs = pod("a", cpu="1", on="n1")
    watched = Watched(node("n1"), runs)
    watched.put(as_status(runs, "Failed"))
    assert watched.pods() == set()
    assert watched.on_node("n1") == {}


def test_finished_pods_do_not_keep_the_row_of_a_node_that_is_gone() -> None:
    gone = node("n1")
    first, second = (pod(name, group="g", cpu="1", on="n1", phase="Succeeded") for name in "ab")
    watched = Watched(gone, pod_group("g"), first, second)
    watched.delete(gone)
    assert watched.nodes() == set()
    watched.put(node("n2"))  # takes the row of n1
    assert watched.place("a") == ""
    watched.delete(first, second)
    assert watched.pods() == set()
    assert watched.existing() == {"n2"}


def test_a_finished_pod_of_an_unknown_node_makes_no_node() -> None:
    watched = Watched(pod_group("g"), pod("a", group="g", on="ghost", phase="Succeeded"))
    assert watched.nodes() == set()
    watched.delete(pod("a", group="g"))
    assert watched.pods() == set()


def test_pods_of_an_unknown_node_are_kept_until_it_is_known() -> None:
    watched = Watched(pod_group("g"), pod("a", group="g", cpu="3", on="n1"))
    assert watched.existing() == set()
    watched.put(node("n1", cpu="8"))
    assert watched.existing() == {"n1"}
    assert watched.on_node("n1") == {"cpu": 3000}


def test_a_node_that_is_deleted_under_its_pods_comes_back_with_them() -> None:
    n1, runs = node("n1"), pod("a", cpu="3", on="n1")
    watched = Watched(n1, runs)
    watched.delete(n1)
    assert watched.existing() == set()
    assert watched.on_node("n1") == {"cpu": 3000}
    watched.put(n1)
    assert watched.on_node("n1") == {"cpu": 3000}
    watched.delete(n1, runs)
    assert watched.nodes() == set()


def test_the_last_pod_of_a_node_that_is_gone_takes_the_row_with_it() -> None:
    runs = pod("a", cpu="3", on="ghost")
    watched = Watched(runs)
    assert watched.nodes() == {"ghost"}
    watched.delete(runs)
    assert watched.nodes() == set()


@pytest.mark.parametrize("kept", [True, False], ids=["one we keep", "one we do not keep"])
def test_a_namesake_with_another_uid_takes_the_place_of_its_predecessor(kept: bool) -> None:
    old = pod("a", group="g", cpu="1", on="n1")
    watched = Watched(node("n1"), pod_group("g"), old)
    new = with_meta(pod("a", group="g", cpu="2", scheduler="volcano" if kept else "default-scheduler"), uid="new")
    watched.put(new)
    assert watched.status("a") is (TaskStatus.PENDING if kept else TaskStatus.FREE)
    assert watched.on_node("n1") == {}
    watched.delete(old)
    assert watched.status("a") is (TaskStatus.PENDING if kept else TaskStatus.FREE)


def test_a_pod_that_changes_its_group_changes_its_job() -> None:
    watched = Watched(pod_group("g"), pod_group("h"), pod("a", group="g", cpu="1"))
    watched.put(pod("a", group="h", cpu="1"))
    assert watched.counts("g") == {}
    assert watched.counts("h") == {TaskStatus.PENDING: 1}


def test_a_job_without_a_group_is_forgotten_with_its_last_pod() -> None:
    member = pod("a", group="early", cpu="1")
    watched = Watched(member)
    assert "team/early" in watched.snapshot().job_keys
    watched.delete(member)
    assert not any(watched.snapshot().job_keys)


def test_replacing_the_list_of_pods_forgets_those_that_are_not_in_it() -> None:
    stays, goes = pod("a", cpu="1", on="n1"), pod("b", cpu="2", on="n1")
    watched = Watched(node("n1"), stays, goes)
    watched.state.replace("Pod", [stays, pod("c", cpu="4", on="n1")])
    assert watched.pods() == {"a", "c"}
    assert watched.on_node("n1") == {"cpu": 5000}


def test_replacing_lists_forgets_groups_queues_and_nodes_too() -> None:
    watched = Watched(node("n1"), node("n2"), pod_group("g"), pod_group("h"), queue("q1"), queue("q2"))
    watched.state.replace("Node", [node("n2")])
    watched.state.replace("PodGroup", [pod_group("h")])
    watched.state.replace("Queue", [queue("q2")])
    snapshot = watched.snapshot()
    assert watched.nodes() == {"n2"}
    assert [key for key in snapshot.job_keys if key] == ["team/h"]
    assert list(snapshot.queues) == ["q2"]


def test_kinds_that_scheduling_does_not_read_are_ignored() -> None:
    watched = Watched()
    watched.state.upsert("ConfigMap", pod("a"))
    watched.state.delete("ConfigMap", pod("a"))
    watched.state.replace("ConfigMap", [pod("a")])
    assert watched.pods() == set()


def test_an_update_that_moves_the_request_moves_the_sums() -> None:
    runs = pod("a", group="g", cpu="1", on="n1")
    watched = Watched(node("n1"), pod_group("g"), runs)
    watched.put(with_spec(runs, containers=pod("a", cpu="3").spec.containers))
    assert watched.on_node("n1") == {"cpu": 3000}
    assert watched.state.drift() == 0


def test_a_promise_is_dated_by_the_first_cycle_that_sees_it() -> None:
    waits = pod("a", group="g", cpu="1")
    promised = msgspec.structs.replace(waits, status=msgspec.structs.replace(waits.status, nominated_node_name="n1"))
    watched = Watched(node("n1", cpu="4"), pod_group("g"), waits)

    def since(now: float) -> float:
        return float(watched.state.snapshot(now).ledger.tasks.nominated_since[watched.row("a")])

    assert since(100.0) == 0.0
    watched.put(promised)
    assert [since(200.0), since(300.0)] == [200.0, 200.0]
    watched.put(waits)
    watched.put(promised)
    assert since(400.0) == 400.0, "another promise"
    watched.put(msgspec.structs.replace(waits, status=msgspec.structs.replace(waits.status, nominated_node_name="n2")))
    assert since(500.0) == 500.0, "another node"
