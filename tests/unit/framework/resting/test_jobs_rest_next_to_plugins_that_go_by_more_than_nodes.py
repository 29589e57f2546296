"""Next to plugins whose answers follow from the time, measured loads or other jobs, jobs rest until these change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import gang, node, pod
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.state.watched import with_meta
from volcano_py.api.objects import ApiObject, PodGroup
from volcano_py.state.nodes.loads import FRESH_FOR, Load

EVICTING = "enqueue, allocate, preempt, reclaim"
ACTIONS = ["enqueue, allocate, backfill", EVICTING]
HOUR = 3600.0
ZONE = "volcano.sh/revocable-zone"
# It is noon.
TDM = ', {name: tdm, arguments: {tdm.revocable-zone.z: "9:00-13:00", tdm.timezone: UTC}}'
USAGE = ", {name: usage, arguments: {usage.weight: 5}}"
RESERVATION = ", {name: reservation, arguments: {after: 25h, maxIdle: 0}}"
TOPOLOGY = ", {name: task-topology}"
SLA = ", {name: sla, arguments: {sla-waiting-time: 25h}}"


def full(name: str, **fields: Any) -> list[ApiObject]:
    """A node, and the pod that fills it."""
    return [
        node(name, cpu="4", **fields),
        *gang(f"on-{name}", cpu="4", running_on=[name], group_phase="Running"),
    ]


def settled(*objects: ApiObject, more: str, actions: str = ACTIONS[0]) -> Cluster:
    """With two nodes that are full, a job that waits for room on either, and a gang of unequal pods of which one has
    room."""
    group, first, _ = gang("half", pods=2, cpu="2")
    cluster = Cluster(
        *full("n1"),
        *full("n2"),
        node("n3", cpu="3"),
        *gang("waits", cpu="4"),
        *gang("large", cpu="3500m"),
        *(group, first, pod("half-1", group="half", cpu="3")),
        *objects,
        owner="capacity",
        more=f", {{name: priority}}{more}",
        actions=actions,
    )
    cluster.settle()
    return cluster


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("more", [TDM, USAGE, TOPOLOGY, SLA])
def test_next_to_each_of_them_jobs_rest_while_nothing_changes(more: str, actions: str) -> None:
    cluster = settled(*revocable("n4"), more=more, actions=actions)
    cluster.state.measured({name: Load(0.5, 0.5, cluster.now) for name in ("n1", "n2")})
    cluster.settle()
    assert cluster.looked_at() == set()
    cluster.now += 60
    assert cluster.looked_at() == set()


def revocable(name: str) -> list[ApiObject]:
    return full(name, labels={ZONE: "z"})


@pytest.mark.parametrize("actions", ACTIONS)
def test_the_end_of_the_hours_of_a_zone_wakes_them(actions: str) -> None:
    cluster = settled(*revocable("n4"), more=TDM, actions=actions)
    report = cluster.cycle()
    assert report.recheck_at == cluster.now + HOUR
    cluster.now += HOUR
    report = cluster.cycle()
    assert {"waits", "large"} <= Watcher.jobs
    assert "outside its hours" in report.pending[0].message


def test_hours_of_a_zone_without_nodes_do_not_wake_them() -> None:
    cluster = settled(more=TDM)
    cluster.now += HOUR
    assert cluster.looked_at() == set()


@pytest.mark.parametrize("actions", ACTIONS)
def test_a_node_whose_load_passes_its_threshold_wakes_them(actions: str) -> None:
    cluster = settled(more=USAGE, actions=actions)
    cluster.state.measured({"n1": Load(0.9, 0.5, cluster.now)})
    report = cluster.cycle()
    assert {"waits", "large"} <= Watcher.jobs
    assert "had more than 80 % of their CPU in use" in report.pending[0].message
    cluster.settle()
    assert cluster.looked_at() == set()
    cluster.now += FRESH_FOR
    cluster.cycle()
    assert {"waits", "large"} <= Watcher.jobs


def test_a_load_on_the_same_side_of_the_threshold_wakes_only_what_may_have_better_luck_elsewhere() -> None:
    cluster = settled(more=USAGE)
    cluster.state.measured({"n1": Load(0.4, 0.5, cluster.now)})
    assert cluster.looked_at() == {"half"}


def test_a_load_on_the_same_side_of_the_threshold_wakes_those_that_pods_may_be_evicted_for() -> None:
    cluster = settled(more=USAGE, actions=EVICTING)
    cluster.state.measured({"n1": Load(0.4, 0.5, cluster.now)})
    assert {"waits", "large"} <= cluster.looked_at()


@pytest.mark.parametrize("actions", ACTIONS)
def test_a_place_that_is_held_for_another_job_wakes_them(actions: str) -> None:
    cluster = settled(more=RESERVATION, actions=actions)
    assert cluster.looked_at() == set()
    cluster.now += HOUR + 1
    cluster.cycle()
    assert held_for(cluster) == "large"
    report = cluster.cycle()
    assert {"waits", "half"} <= Watcher.jobs
    assert sum("held for team/large" in job.message for job in report.pending) == 2
    cluster.settle()
    assert cluster.looked_at() == {"large"}, "whether it waits is asked at the end of each cycle"
    cluster.now += HOUR  # its turn is over
    cluster.cycle()
    assert held_for(cluster) == "waits"
    cluster.cycle()
    assert {"large", "half"} <= Watcher.jobs


def held_for(cluster: Cluster) -> str:
    """The job that has a place held: it may have rested until then."""
    groups = [each for each in cluster.objects.values() if isinstance(each, PodGroup)]
    held = [each for each in groups for said in each.status.conditions if said.said[:2] == ("PlaceHeld", "True")]
    return " ".join(each.metadata.name for each in held)


def test_a_pod_that_leaves_a_held_node_wakes_those_that_fit_alongside() -> None:
    small = gang("small", cpu="500m", node_selector={"held": "yes"})
    cluster = settled(*full("n0", labels={"held": "yes"}), *small, more=RESERVATION)
    cluster.now += HOUR + 1
    cluster.settle()
    assert cluster.looked_at() == {"large"}
    cluster.state.delete("Pod", cluster.pod("on-n0-0"))
    cluster.cycle()
    assert cluster.bound() == ["large-0", "small-0"]


@pytest.mark.parametrize("actions", ACTIONS)
def test_a_job_whose_waiting_time_is_up_is_looked_at_again_and_keeps_what_it_finds(actions: str) -> None:
    """Where no earlier tier, nor its own, refuses that for gangs that are not complete."""
    sla = "{name: sla, arguments: {sla-waiting-time: 25h}}"
    gangs = [*gang("half", pods=2, cpu="2"), *gang("second", age=600, pods=2, cpu="2")]
    cluster = Cluster(*full("n1"), node("n3", cpu="3"), *gangs, *gang("more", cpu="5"), first=sla, actions=actions)
    cluster.settle()
    report = cluster.cycle()
    assert (Watcher.jobs, report.recheck_at) == (set(), cluster.now + HOUR - 600)
    cluster.now += HOUR - 600
    report = cluster.cycle()
    assert Watcher.jobs == {"second"}
    assert 0 < report.look_again_at - report.started < 1, "the other finds less room from now on"
    assert [job.message.partition(": ")[2][:9] for job in report.pending[:2]] == ["1 of 2 po", "0/2 nodes"]


@pytest.mark.parametrize("actions", ACTIONS)
def test_a_job_that_finds_nothing_when_its_waiting_time_is_up_rests_again(actions: str) -> None:
    sla = "{name: sla, arguments: {sla-waiting-time: 25h}}"
    cluster = Cluster(*full("n1"), *gang("waits", cpu="2"), first=sla, actions=actions)
    cluster.settle()
    assert cluster.looked_at() == set()
    cluster.now += HOUR
    assert cluster.looked_at() == {"waits"}
    assert cluster.looked_at() == set()


def test_roles_that_should_share_a_node_are_read_again_when_their_podgroup_changes() -> None:
    group, first, second = gang("pair", pods=2, cpu="2", role="worker")
    wants = {"volcano.sh/task-topology-affinity": "worker"}
    cluster = settled(with_meta(group, annotations=wants), first, second, more=TOPOLOGY)
    assert cluster.looked_at() == set()
    cluster.put(group)
    assert cluster.looked_at() == {"pair"}
