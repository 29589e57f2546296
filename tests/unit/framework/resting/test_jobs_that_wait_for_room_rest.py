"""Jobs that wait for nothing but room are looked at when room comes or goes that may concern them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import gang, node, pod, queue
from tests.unit.framework.resting.watched_scheduler import Cluster, Talker, Watcher
from volcano_py.api.effects import PodCondition
from volcano_py.api.objects import ApiObject
from volcano_py.api.reasons import Reason

HOST = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
FULL = [
    each
    for name in ("n1", "n2")
    for each in (
        node(name, cpu="4", labels={HOST: name}),
        *gang(f"on-{name}", cpu="4", running_on=[name], group_phase="Running"),
    )
]


def crowd(count: int, **fields: Any) -> list[ApiObject]:
    """Jobs of one pod, all alike: w0, w1, …"""
    return [each for number in range(count) for each in gang(f"w{number}", **{"cpu": "2", **fields})]


def settled(*objects: ApiObject, **fields: Any) -> Cluster:
    cluster = Cluster(*FULL, *objects, **fields)
    cluster.settle()
    return cluster


def ends(cluster: Cluster, name: str) -> None:
    """The pod and its PodGroup are gone."""
    cluster.state.delete("Pod", cluster.pod(f"{name}-0"))
    cluster.state.delete("PodGroup", cluster.objects["PodGroup", name])


def test_what_waits_in_a_full_cluster_is_not_looked_at_and_reported_all_the_same() -> None:
    cluster = settled(*crowd(3), *gang("large", cpu="3"))
    before = cluster.cycle()
    assert Watcher.jobs == set()
    assert [job.name for job in before.pending] == ["team/w0", "team/w1", "team/w2", "team/large"]
    assert {job.reason for job in before.pending} == {Reason.NODES_REFUSE}
    assert not [effect for effect in cluster.sent if isinstance(effect, PodCondition)]


def test_work_that_fits_is_placed_without_a_look_at_them() -> None:
    cluster = settled(*crowd(3), node("n3", cpu="1"))
    cluster.put(*gang("small", cpu="500m"))
    cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["small-0"], {"small"})


def test_room_goes_to_the_first_of_equals_and_wakes_one_more_than_it_has_places_for() -> None:
    cluster = settled(*crowd(9))
    ends(cluster, "on-n1")
    cluster.cycle()
    assert cluster.bound() == ["w0-0", "w1-0"]
    assert Watcher.jobs == {"w0", "w1", "w2"}
    cluster.settle()
    assert cluster.looked_at() == set()


def test_gangs_that_the_room_is_too_small_for_all_say_so() -> None:
    cluster = settled(*crowd(3, pods=3))
    ends(cluster, "on-n1")
    report = cluster.cycle()
    assert Watcher.jobs == {"w0", "w1", "w2"}
    assert all("2 of 3 pods have a place" in job.message for job in report.pending)


def test_a_gang_of_which_some_pods_find_room_rests_until_there_is_more_or_less_for_it() -> None:
    cluster = settled(node("n3", cpu="5"), *gang("half", pods=4, cpu="2"), *gang("whole", pods=4, cpu="2500m"))
    assert cluster.looked_at() == set()
    cluster.put(*gang("small", cpu="500m"))
    report = cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["small-0"], {"small"})
    report = cluster.cycle()
    assert Watcher.jobs == {"half", "whole"}
    assert [job.message.partition(": ")[2][:11] for job in report.pending] == ["2 of 4 pods", "1 of 4 pods"]
    assert cluster.looked_at() == set()
    cluster.put(node("n4", cpu="5"))
    cluster.cycle()
    assert cluster.bound() == [f"half-{number}" for number in range(4)]


def test_a_gang_of_which_some_pods_find_room_is_looked_at_when_its_queue_may_hold_no_more_than_these() -> None:
    capped, half = queue("capped", capability={"cpu": "8"}), gang("half", pods=4, cpu="2", queue="capped")
    cluster = settled(capped, node("n3", cpu="4"), node("n4", cpu="3"), *half, owner="capacity")
    assert cluster.looked_at() == set()
    cluster.put(pod("mine", group="mine", cpu="3", on="n4"), *gang("mine", pods=0, queue="capped"))
    assert "half" in cluster.looked_at()


def test_a_gang_whose_pods_differ_rests_until_any_pod_has_moved() -> None:
    """Which nodes the first of them take decides whether the others find room."""
    group, first, _ = gang("half", pods=2, cpu="2")
    other = pod("half-1", group="half", cpu="3")
    cluster = settled(node("n3", cpu="4"), group, first, other, owner="capacity")
    report = cluster.cycle()
    assert Watcher.jobs == set()
    assert "1 of 2 pods has a place" in report.pending[0].message
    cluster.put(pod("stranger", cpu="1", on="n3", scheduler="default-scheduler"))
    assert cluster.looked_at() == {"half"}
    assert cluster.looked_at() == set()
    ends(cluster, "on-n1")
    cluster.cycle()
    assert cluster.bound() == ["half-0", "half-1"]


def test_a_gang_whose_pods_differ_rests_where_some_of_them_wait_for_pods() -> None:
    group, first, _ = gang("half", pods=2, cpu="2")
    other = pod("half-1", group="half", cpu="1", host_ports=[80])
    holders = [pod(f"holder-{name}", on=name, host_ports=[80]) for name in ("n1", "n2", "n3")]
    cluster = settled(node("n3", cpu="4"), *holders, group, first, other, owner="capacity")
    assert cluster.looked_at() == set()
    cluster.state.delete("Pod", holders[2])
    cluster.cycle()
    assert cluster.bound() == ["half-0", "half-1"]


@pytest.mark.parametrize(("capability", "looked_at"), [("11", set[str]()), ("10", {"half"})])
def test_a_gang_whose_pods_differ_is_looked_at_when_a_ceiling_may_stop_it(capability: str, looked_at: set[str]) -> None:
    """It asks for 2 + 3 cpu. With 6 left, 3 pods or 2 alone could come: 1/3 + 1/2 of that. With 5 left, 2 or 1."""
    capped = queue("capped", capability={"cpu": capability})
    group, first, _ = gang("half", pods=2, cpu="2", queue="capped")
    cluster = settled(capped, node("n3", cpu="4"), group, first, pod("half-1", group="half", cpu="3"), owner="capacity")
    assert cluster.looked_at() == set()
    mine = pod("mine", group="mine", cpu="5", on="n2")
    cluster.put(mine, *gang("mine", pods=0, queue="capped"))
    cluster.cycle()
    assert cluster.looked_at() == looked_at


def test_room_that_is_too_small_wakes_those_whose_reason_it_changes() -> None:
    cluster = settled(*gang("wide", cpu="3"), *gang("narrow", cpu="1", node_selector={HOST: "n1"}))
    ends(cluster, "on-n2")
    cluster.put(pod("stranger", cpu="2", on="n2", scheduler="default-scheduler"))
    report = cluster.cycle()
    assert Watcher.jobs == {"wide"}  # the other may not use that node
    assert "the emptiest node, n2, has 2 cpu free" in report.pending[0].message


def test_what_a_cycle_places_changes_their_reasons_in_the_next_which_is_due_at_once() -> None:
    cluster = settled(*crowd(2), node("n3", cpu="1"))
    cluster.put(*gang("small", cpu="500m"))
    report = cluster.cycle()
    assert Watcher.jobs == {"small"}
    assert 0 < report.look_again_at - report.started < 1
    again = cluster.cycle()
    assert Watcher.jobs == {"w0", "w1"}
    assert all("n3, has 0.5 cpu free" in job.message for job in again.pending)


def test_a_queue_that_reaches_its_capability_wakes_its_jobs() -> None:
    cluster = settled(
        queue("capped", capability={"cpu": "3"}),
        node("n3", cpu="1"),
        *crowd(2, queue="capped"),
    )
    assert cluster.looked_at() == set()
    cluster.put(pod("mine", group="mine", cpu="2", on="n3"), *gang("mine", pods=0, queue="capped"))
    report = cluster.cycle()
    assert {"w0", "w1"} <= Watcher.jobs
    assert {job.reason for job in report.pending if job.queue == "capped"} == {Reason.OVER_CAPABILITY}


def test_next_to_a_plugin_whose_refusals_may_pass_any_change_wakes_them() -> None:
    assert not Talker.predicate_lasts
    assert settled(*crowd(1), more=", {name: talker}").looked_at_after_any_change() == {"w0"}


def test_what_nodes_keep_cpu_from_for_devices_is_looked_at_when_anything_uses_more_or_less() -> None:
    gpu_node = node("n3", cpu="8", devices={GPU: "2"})
    keeping = f", {{name: resource-strategy-fit, arguments: {{sra: {{policy: proportional, resources: {GPU}}}}}}}"
    holder = gang("holder", cpu="5", running_on=["n3"])
    cluster = settled(gpu_node, *holder, *crowd(1), more=keeping)
    assert f"kept cpu for idle {GPU}" in cluster.cycle().pending[0].message
    assert Watcher.jobs == set()
    cluster.put(*gang("small", cpu="500m", node_selector={HOST: "elsewhere"}))
    assert cluster.looked_at() == {"small"}
    cluster.put(*gang("learner", age=60, cpu="500m", devices={GPU: "2"}))
    cluster.cycle()
    assert cluster.bound() == ["learner-0", "w0-0"]


def test_an_edit_wakes_the_job_alone() -> None:
    cluster = settled(*crowd(3))
    cluster.put(pod("w1-1", group="w1", cpu="2"))
    assert cluster.looked_at() == {"w1"}
    assert {effect.pod.name for effect in cluster.sent if isinstance(effect, PodCondition)} == {"w1-1"}
