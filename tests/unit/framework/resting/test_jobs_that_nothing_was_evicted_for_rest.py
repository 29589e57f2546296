"""Where pods may be evicted for jobs that wait, these rest until anything that evictions follow from changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import NAMESPACE, NOW, gang, node, pod, priority_class, queue
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.state.watched import with_meta, with_status
from volcano_py.api.effects import Evict
from volcano_py.api.names import PREEMPTABLE
from volcano_py.api.objects import ApiObject, Condition, LabelSelector, ObjectMeta
from volcano_py.api.workloads import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus

ACTIONS = "enqueue, allocate, preempt, reclaim"
COOL = {"volcano.sh/cooldown-time": "5m"}


def running(name: str, on: str, **fields: Any) -> list[ApiObject]:
    return gang(name, cpu="4", running_on=[on], group_phase="Running", **fields)


def settled(
    *objects: ApiObject, actions: str = ACTIONS, owner: str = "capacity", more: str = ", {name: priority}"
) -> Cluster:
    """Two nodes that are full, and two jobs that wait in the queue of what runs there."""
    cluster = Cluster(
        priority_class("high", 10),
        *(node(name, cpu="4") for name in ("n1", "n2")),
        *running("r1", "n1"),
        *running("r2", "n2"),
        *gang("w1", cpu="2"),
        *gang("w2", cpu="3"),
        *objects,
        actions=actions,
        owner=owner,
        more=more,
    )
    cluster.settle()
    return cluster


def budget(allowed: int) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(namespace=NAMESPACE, name="b", uid="b"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"})),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def evicted(cluster: Cluster) -> list[str]:
    return [effect.pod.name for effect in cluster.sent if isinstance(effect, Evict)]


@pytest.mark.parametrize("actions", [ACTIONS, "enqueue, reclaim, preempt, allocate", "enqueue, allocate, gangpreempt"])
def test_jobs_for_which_nothing_may_be_evicted_are_not_looked_at_and_reported_all_the_same(actions: str) -> None:
    cluster = settled(actions=actions)
    report = cluster.cycle()
    assert Watcher.jobs == set()
    assert [job.name for job in report.pending] == ["team/w1", "team/w2"]
    assert all("evict" in job.message for job in report.pending)


def test_a_job_that_comes_is_looked_at_alone() -> None:
    cluster = settled()
    cluster.put(*gang("w3", cpu="1"))
    assert cluster.looked_at() == {"w3"}


def test_a_job_that_may_take_from_others_does_so_and_the_next_cycle_looks_at_all() -> None:
    cluster = settled()
    cluster.put(*gang("urgent", cpu="4", priority_class="high", priority=10))
    report = cluster.cycle()
    assert (evicted(cluster), Watcher.jobs) == (["r2-0"], {"urgent"})
    assert 0 < report.look_again_at - report.started < 1
    assert {"w1", "w2"} <= cluster.looked_at()


def test_a_pod_that_runs_and_changes_wakes_them() -> None:
    cluster = settled()
    one = cluster.pod("r1-0")
    cluster.put(with_meta(one, annotations={**one.metadata.annotations, PREEMPTABLE: "false"}))
    assert {"w1", "w2"} <= cluster.looked_at()


def test_room_that_is_too_small_wakes_them() -> None:
    cluster = settled(pod("stranger", cpu="1", on="n3", scheduler="default-scheduler"), node("n3", cpu="1"))
    cluster.state.delete("Pod", cluster.pod("stranger"))
    assert {"w1", "w2"} <= cluster.looked_at()


def test_what_queues_deserve_wakes_them_when_it_follows_from_what_waits() -> None:
    cluster = settled(queue("other"), owner="proportion")
    cluster.put(*gang("claim", cpu="2", queue="other"))
    assert cluster.looked_at() == {"w1", "w2", "claim"}


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_whatever_changes_of_a_pod_that_runs_wakes_them(field: str) -> None:
    """Any plugin may read it."""
    cluster = settled()
    one = cluster.pod("r1-0")
    cluster.put(with_meta(one, **{field: {**getattr(one.metadata, field), "volcano.sh/cooldown-time": "5m"}}))
    assert {"w1", "w2"} <= cluster.looked_at()


@pytest.mark.parametrize(
    "plugin", ["{name: pdb}", "{name: cdp}", "{name: network-topology-aware}", "{name: drf}", "{name: resourcequota}"]
)
@pytest.mark.parametrize("actions", [ACTIONS, "enqueue, allocate, gangpreempt, gangreclaim"])
def test_next_to_a_plugin_that_says_what_its_answers_follow_from_they_rest(plugin: str, actions: str) -> None:
    cluster = settled(more=f", {{name: priority}}, {plugin}", actions=actions)
    assert cluster.looked_at() == set()


@pytest.mark.parametrize("allowed", [0, 2])
def test_a_budget_that_changes_wakes_them(allowed: int) -> None:
    cluster = settled(budget(1), more=", {name: priority}, {name: pdb}")
    assert cluster.looked_at() == set()
    cluster.put(budget(allowed))
    assert {"w1", "w2"} <= cluster.looked_at()


def test_a_budget_that_goes_wakes_them() -> None:
    cluster = settled(budget(0), more=", {name: priority}, {name: pdb}")
    cluster.state.delete("PodDisruptionBudget", budget(0))
    assert {"w1", "w2"} <= cluster.looked_at()


def test_a_hyper_node_that_comes_wakes_them() -> None:
    cluster = settled(more=", {name: network-topology-aware}")
    cluster.put(hyper_node("rack", 1, nodes=["n1"]))
    assert {"w1", "w2"} <= cluster.looked_at()


def test_in_the_tree_of_drf_they_rest_until_another_job_asks_for_something() -> None:
    cluster = settled(owner="drf, enableHierarchy: true")
    assert cluster.looked_at() == set()
    cluster.put(*gang("claim", cpu="2"))
    assert cluster.looked_at() == {"w1", "w2", "claim"}


def test_a_cool_down_that_ends_wakes_them() -> None:
    stranger = pod("s", cpu="1", on="n3", scheduler="other", labels={"volcano.sh/cooldown-time": "5m"})
    since = Condition(type="PodScheduled", status="True", last_transition_time=NOW)
    cluster = settled(node("n3", cpu="1"), with_status(stranger, conditions=[since]), more=", {name: cdp}")
    cluster.now += 299
    assert cluster.looked_at() == set()
    cluster.now += 1
    assert {"w1", "w2"} <= cluster.looked_at()


def test_while_a_pod_that_might_be_evicted_cools_down_any_change_wakes_them_and_so_does_the_end_of_it() -> None:
    """The cycle that is due then is asked for while pods are judged."""
    since = Condition(type="PodScheduled", status="True", last_transition_time=NOW)
    urgent = gang("urgent", cpu="4", priority_class="high", priority=10)
    cluster = settled(more=", {name: priority}, {name: cdp}")
    for name in ("r1-0", "r2-0"):
        cluster.put(with_status(with_meta(cluster.pod(name), labels=COOL), conditions=[since]))
    cluster.put(*urgent)
    cluster.settle()
    first, second = cluster.cycle(), cluster.cycle()
    assert first.recheck_at == second.recheck_at == NOW.timestamp() + 300
    assert "urgent" in cluster.looked_at_after_any_change()
    cluster.now += 300
    cluster.cycle()
    assert len(evicted(cluster)) == 1


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_next_to_a_plugin_that_does_not_say_what_evictions_follow_from_any_change_wakes_them(action: str) -> None:
    cluster = settled(actions=f"enqueue, allocate, {action}", more=", {name: silent}")
    assert {"w1", "w2"} <= cluster.looked_at_after_any_change()
