"""A PodGroup that was admitted and has no pods gives way, second by second, with the shipped configuration; and so does
one that was admitted because of what it could reclaim, and gets nothing."""

from __future__ import annotations

from typing import Any

from tests.scenarios.lapsing import TIMEOUT, Cluster, Object, group, node, pod, vcjob


def test_empty_groups_keep_a_job_out_until_their_time_is_over() -> None:
    cluster = Cluster(group("empty-0", 100), group("empty-1", 100), group("empty-2", 100))
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 40, "victim"))
    cluster.pass_by(TIMEOUT - 1)
    assert cluster.phase("victim/work-work") == "Pending"
    cluster.pass_by(3)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}
    assert cluster.phase("empty-0") == cluster.phase("empty-1") == "Pending"


def test_the_group_says_why_and_when_it_is_admitted_again() -> None:
    cluster = Cluster(group("empty", 100))
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 40))
    cluster.pass_by(TIMEOUT + 2)
    assert cluster.reported("empty") == (
        "PromiseLapsed: 1/1 tasks in gang unschedulable: none of its pods was created within 5s of its "
        "admission, so other jobs may use its resources: see the events of the controller that creates its pods; it is "
        "admitted again after the jobs that were waiting then"
    )


def test_a_waiting_pod_causes_a_cycle_when_the_time_is_over() -> None:
    cluster = Cluster(group("empty", 100))
    cluster.pass_by(1)
    assert cluster.recheck_at < 0, "nothing waits"
    cluster.add(vcjob("work", 2, 40))
    cluster.pass_by(2)
    assert 0 < cluster.recheck_at <= TIMEOUT - 1


def test_while_no_job_waits_an_empty_group_stays() -> None:
    cluster = Cluster(group("empty", 100))
    cluster.pass_by(3 * TIMEOUT)
    assert cluster.phase("empty") == "Inqueue"


def test_pods_that_come_in_time_find_what_was_promised() -> None:
    cluster = Cluster(group("slow", 80, minimum=2), vcjob("work", 2, 40))
    cluster.pass_by(TIMEOUT)
    assert cluster.phase("work-work") == "Pending"
    cluster.add(pod("slow-0", 40, "slow"), pod("slow-1", 40, "slow"))
    cluster.pass_by(2 * TIMEOUT)
    assert cluster.bound == {"slow-0", "slow-1"}


def test_it_is_admitted_again_when_those_that_waited_have_been() -> None:
    cluster = Cluster(group("empty", 100))
    cluster.pass_by(1)
    cluster.add(group("first", 80, minimum=2), *(pod(f"first-{index}", 40, "first") for index in range(2)))
    cluster.pass_by(TIMEOUT + 3)
    assert (cluster.phase("first"), cluster.phase("empty")) == ("Running", "Pending")
    for index in range(2):
        cluster.delete("Pod", f"first-{index}")
    cluster.delete("PodGroup", "first")
    cluster.pass_by(2)
    assert cluster.phase("empty") == "Inqueue"


def test_staggered_groups_do_not_pass_what_they_lose_to_each_other() -> None:
    """Each one's part is too small for the job that waits; together they would keep it out forever."""
    cluster = Cluster(group("empty-0", 30))
    for index in range(1, 4):
        cluster.pass_by(1)
        cluster.add(group(f"empty-{index}", 30))
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 45))
    cluster.pass_by(TIMEOUT + 3)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}


def test_a_job_that_asks_for_more_than_there_is_does_not_hold_up_one_whose_pods_were_late() -> None:
    cluster = Cluster(group("late", 60), vcjob("impossible", 10, 50))
    cluster.pass_by(2 * TIMEOUT)
    assert cluster.phase("impossible-impossible") == "Pending"
    assert cluster.phase("late") == "Inqueue"


def test_afterwards_a_group_with_some_pods_counts_with_what_they_ask_for() -> None:
    cluster = Cluster(group("boaster", 100), pod("boaster-0", 1, "boaster"))
    cluster.pass_by(1)
    assert cluster.bound == {"boaster-0"}
    cluster.add(vcjob("work", 2, 40))
    cluster.pass_by(TIMEOUT - 2)
    assert cluster.phase("work-work") == "Pending"
    cluster.pass_by(4)
    assert cluster.bound == {"boaster-0", "work-worker-0", "work-worker-1"}


def test_so_does_a_gang_whose_pods_do_not_all_come() -> None:
    cluster = Cluster(group("torn", 100, minimum=2), pod("torn-0", 50, "torn"), nodes=2)
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 45))
    cluster.pass_by(TIMEOUT + 3)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}


def test_writing_the_phase_gives_no_more_time() -> None:
    cluster = Cluster(group("empty", 100))
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 40))
    for phase in ("Running", "Inqueue", "Running", "Unknown", "Inqueue", "Inqueue", "Inqueue"):
        cluster.write_phase("empty", phase)
        cluster.pass_by(1)
    cluster.pass_by(2)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}


def test_a_restart_gives_no_more_time_and_takes_none() -> None:
    cluster = Cluster(group("empty", 100))
    cluster.pass_by(4)
    cluster.add(vcjob("work", 2, 40))
    cluster.restart()
    cluster.pass_by(1)
    assert cluster.phase("work-work") == "Pending"
    cluster.pass_by(TIMEOUT - 1)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}


def test_pods_that_fit_no_node_block_no_other_job_and_autoscalers_still_see_them() -> None:
    useless = [pod(f"useless-{index}", 5, nodeSelector={"pool": "none"}) for index in range(26)]
    cluster = Cluster(*useless)
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 40))
    cluster.pass_by(3)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}
    assert cluster.phase("podgroup-pod-default-useless-0") == "Inqueue"
    new = node("new", "100")
    new["metadata"]["labels"] = {"pool": "none"}
    cluster.add(new)
    cluster.pass_by(2)
    assert {"useless-0", "useless-1"} < cluster.bound


def test_single_pods_and_gangs_of_a_deployment_are_not_timed() -> None:
    """A full waiting room of pods that could run stays as it is."""
    waiting = [pod(f"waits-{index}", 30) for index in range(5)]
    cluster = Cluster(pod("runs-0", 50), pod("runs-1", 50), *waiting)
    cluster.pass_by(1)
    phases = [cluster.phase(f"podgroup-pod-default-waits-{index}") for index in range(5)]
    cluster.pass_by(3 * TIMEOUT)
    assert phases == [cluster.phase(f"podgroup-pod-default-waits-{index}") for index in range(5)]


RECLAIM = "enqueue, allocate, reclaim, backfill"


def a_queue(name: str, **spec: Any) -> Object:
    return {"kind": "Queue", "metadata": {"name": name}, "spec": spec}


def full(*, preemptable: bool) -> list[Object]:
    """Queue q0 holds all 100 CPUs, q1 nothing."""
    running = [pod(f"early-{number}", 10, "early", nodeName=f"n{number // 5}") for number in range(10)]
    for each in running:
        each["status"] = {"phase": "Running"}
        each["metadata"]["annotations"]["volcano.sh/preemptable"] = str(preemptable).lower()
    early = group("early", 0)
    early["spec"].update(queue="q0", minResources={})
    early["status"] = {"phase": "Running"}
    return [a_queue("q0"), a_queue("q1"), early, *running]


def test_a_job_that_was_admitted_to_reclaim_and_gets_nothing_gives_way() -> None:
    cluster = Cluster(*full(preemptable=False), actions=RECLAIM)
    cluster.add(vcjob("late", 5, 10, queue="q1"))
    cluster.pass_by(2)
    cluster.add(vcjob("small", 1, 15, queue="q0"))
    cluster.pass_by(TIMEOUT - 2)
    assert (cluster.phase("late-late"), cluster.phase("small-small")) == ("Inqueue", "Pending")
    cluster.pass_by(3)
    assert cluster.phase("small-small") == "Inqueue", "the place for its pod may come; late has had its time"
    assert cluster.phase("late-late") == "Inqueue", "again, after the one that waited"


def test_it_falls_back_when_there_is_nothing_to_take_any_more() -> None:
    cluster = Cluster(*full(preemptable=False), actions=RECLAIM)
    cluster.add(vcjob("late", 5, 10, queue="q1"))
    cluster.pass_by(2)
    cluster.add(a_queue("q0", reclaimable=False))
    cluster.pass_by(1)
    assert cluster.phase("late-late") == "Inqueue", "not before its time is over"
    assert 0 < cluster.recheck_at <= TIMEOUT
    cluster.pass_by(TIMEOUT)
    assert cluster.phase("late-late") == "Pending"
    assert "PromiseLapsed: " in cluster.reported("late-late") or "ClusterOvercommitted: " in cluster.reported(
        "late-late"
    )
    cluster.add(a_queue("q0"))
    cluster.pass_by(1)
    assert cluster.phase("late-late") == "Inqueue"


def test_a_job_that_gets_its_places_stays() -> None:
    cluster = Cluster(*full(preemptable=True), actions=RECLAIM)
    cluster.add(vcjob("late", 5, 10, queue="q1"))
    cluster.pass_by(2 * TIMEOUT)
    assert cluster.phase("late-late") == "Running"
    assert {f"late-worker-{number}" for number in range(5)} <= cluster.bound
    assert cluster.recheck_at < 0
