"""Gangs with a limit of the network that no domain has room for rest until any pod moves, or the network changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import gang, node, pod
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.framework.topology.test_pods_of_a_job_tie_it_to_a_domain import TREE, limited
from volcano_py.api.objects import ApiObject

AWARE = ", {name: network-topology-aware}"
RACK = {"highestTierAllowed": 1}
EVICTING = "enqueue, allocate, preempt, gangreclaim"
ACTIONS = ["enqueue, allocate, backfill", EVICTING]


def settled(*objects: ApiObject, actions: str = ACTIONS[0], topology: Any = RACK, pods: int = 3) -> Cluster:
    """Two racks of two nodes with 4 CPUs, of which one has 2 in use; a gang that wants 9 in one rack."""
    cluster = Cluster(
        *(node(name, cpu="4") for name in ("a1", "a2", "b1", "b2")),
        *TREE,
        *limited(gang("train", pods=pods, cpu="3"), topology),
        *gang("on-a1", cpu="2", running_on=["a1"], group_phase="Running"),
        *objects,
        actions=actions,
        owner="capacity",
        more=AWARE,
    )
    cluster.settle()
    return cluster


@pytest.mark.parametrize("actions", ACTIONS)
def test_while_nothing_changes_it_is_not_looked_at_and_reported_all_the_same(actions: str) -> None:
    cluster = settled(actions=actions)
    report = cluster.cycle()
    assert Watcher.jobs == set()
    assert [job.name for job in report.pending] == ["team/train"]
    assert "rack, tier 1: B has room for 2 of 3 pods" in report.pending[0].message


@pytest.mark.parametrize("actions", ACTIONS)
def test_a_pod_that_comes_or_goes_anywhere_wakes_it(actions: str) -> None:
    cluster = settled(actions=actions)
    cluster.put(pod("stranger", cpu="1", on="b1", scheduler="other"))
    assert cluster.looked_at() == {"train"}
    assert cluster.looked_at() == set()
    cluster.state.delete("Pod", cluster.pod("stranger"))
    assert cluster.looked_at() == {"train"}


def test_room_in_one_domain_lets_it_start() -> None:
    cluster = settled()
    cluster.put(node("b3", cpu="4"), hyper_node("B", 1, tier_name="rack", nodes=["b1", "b2", "b3"]))
    cluster.cycle()
    assert cluster.bound() == ["train-0", "train-1", "train-2"]


def test_a_hyper_node_that_changes_wakes_it() -> None:
    cluster = settled()
    cluster.put(hyper_node("A", 1, nodes=["a1"]), hyper_node("B", 1, nodes=["a2", "b1", "b2"]))
    cluster.cycle()
    assert cluster.bound() == ["train-0", "train-1", "train-2"]


def test_another_limit_wakes_it() -> None:
    cluster = settled()
    group = cluster.objects["PodGroup", "train"]
    cluster.put(limited([group], {"highestTierAllowed": 2})[0])
    cluster.cycle()
    assert cluster.bound() == ["train-0", "train-1", "train-2"]


def test_work_that_is_placed_elsewhere_enters_its_reason_in_the_next_cycle() -> None:
    cluster = settled()
    cluster.put(*gang("small", cpu="2"))
    report = cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["small-0"], {"small"})
    assert 0 < report.look_again_at - report.started < 1
    cluster.cycle()
    assert Watcher.jobs == {"train"}


@pytest.mark.parametrize("actions", ACTIONS)
def test_where_any_domain_will_do_it_rests_too(actions: str) -> None:
    cluster = settled(actions=actions, topology={"mode": "soft"}, pods=5)
    assert cluster.looked_at() == set()
    cluster.put(pod("stranger", cpu="1", on="b1", scheduler="other"))
    assert cluster.looked_at() == {"train"}
