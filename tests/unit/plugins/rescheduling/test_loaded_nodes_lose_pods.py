"""rescheduling: which nodes lose pods, how many, which ones, when, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.sessions import NAMESPACE, NOW, Opened, gang, node, open_session, pod_group, queue
from tests.support.sessions import pod as plain_pod
from volcano_py.actions.shuffle import Shuffle
from volcano_py.api.effects import Evict
from volcano_py.api.objects import (
    Affinity,
    ApiObject,
    Condition,
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodAffinity,
    PodAffinityTerm,
)
from volcano_py.api.workloads import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from volcano_py.framework.plugin import Plugin
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.cdp import Cdp
from volcano_py.plugins.conformance import Conformance
from volcano_py.plugins.pdb import Pdb
from volcano_py.plugins.predicates.plugin import Predicates
from volcano_py.plugins.rescheduling import Rescheduling
from volcano_py.plugins.rescheduling import plugin as module
from volcano_py.state.nodes.loads import FRESH_FOR, Load

MOMENT = NOW.timestamp()
PARAMS = {"thresholds": {"cpu": 20, "memory": 20}, "targetThresholds": {"cpu": 60, "memory": 60}}


def load(cpu: float | None, memory: float | None = 0.1, age: float = 0.0) -> Load:
    return Load(cpu, memory, MOMENT - age)


LOADS = {"a": load(0.1), "b": load(0.8, 0.3)}


def owned(pods: Iterable[ApiObject]) -> list[ApiObject]:
    """The objects; pods among them belong to a ReplicaSet."""
    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="web", controller=True)
    return [with_meta(each, owner_references=[owner]) if isinstance(each, Pod) else each for each in pods]


def with_meta(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **fields))


def web(pods: int = 6, on: str = "b", **fields: Any) -> list[ApiObject]:
    """Pods of a ReplicaSet; one of them has to run."""
    given = {"cpu": "1", "memory": "1G", "min_member": 1, **fields}
    return owned(gang("web", pods=pods, running_on=[on] * pods, **given))


def opened_with(
    *objects: Any,
    loads: dict[str, Load] | None = None,
    nodes: Sequence[Any] = (),
    others: Sequence[type[Plugin]] = (),
    params: dict[str, Any] | None = None,
    **arguments: Any,
) -> Opened:
    written = {"strategies": [{"name": "lowNodeUtilization", "params": params or PARAMS}], **arguments}
    return open_session(
        *(nodes or (node("a", cpu="10", memory="40G"), node("b", cpu="10", memory="40G"))),
        *objects,
        tiers=[[Predicates, *others, (Rescheduling, {"arguments": written})]],
        prepare=lambda state: state.measured(LOADS if loads is None else loads),
    )


def shuffled(opened: Opened) -> list[str]:
    """What is evicted, in order."""
    before = len(opened.evictions)
    Shuffle(Shuffle.arguments_type()).execute(opened.ssn)
    assert opened.ssn.ledger.drift() == 0
    assert not opened.ssn.dispatch.failures.counts
    return opened.evictions[before:]


def said(opened: Opened) -> str:
    """Why nothing is evicted."""
    assert shuffled(opened) == []
    return opened.ssn.findings.remarks["rescheduling"]


# -- how many ------------------------------------------------------------------------------------------------------


def test_pods_leave_until_the_node_is_below_its_target() -> None:
    """80 % of 10 CPUs are in use, the target is 60 %, pods ask for 1 CPU: at 60 % a third one goes."""
    opened = opened_with(web())
    assert sorted(shuffled(opened)) == ["web-3", "web-4", "web-5"]


def test_the_event_names_both_nodes_their_load_and_the_target() -> None:
    opened = opened_with(web())
    shuffled(opened)
    evictions = [effect for effect in opened.effects if isinstance(effect, Evict)]
    assert {effect.action for effect in evictions} == {"shuffle"}
    message = next(effect.message for effect in evictions if effect.pod.name == "web-5")
    assert message == (
        "team/web-5 leaves node b, which uses 80 % of its CPU (target 60 %); it fits on node a, which uses 10 % of its "
        "CPU and 10 % of its memory"
    )


def test_no_more_than_the_nodes_with_a_low_load_may_take() -> None:
    """Node a uses 10 % of 10 CPUs and may use 20 %: room for one pod."""
    params = {"thresholds": {"cpu": 15}, "targetThresholds": {"cpu": 20}}
    assert shuffled(opened_with(web(), params=params)) == ["web-5"]


def test_a_pod_that_is_too_large_is_passed_over_for_one_that_is_not() -> None:
    params = {"thresholds": {"cpu": 15}, "targetThresholds": {"cpu": 20}}
    large = owned(gang("large", pods=2, cpu="3", running_on=["b"] * 2, min_member=1, priority=-1))
    assert shuffled(opened_with(large, web(pods=2), params=params)) == ["web-1"]


def test_no_more_than_the_limit_of_a_run() -> None:
    assert shuffled(opened_with(web(), maxVictims=2)) == ["web-5", "web-4"][::-1]


def test_what_came_to_a_node_since_it_was_measured_counts_there() -> None:
    """Node a used 10 % when it was measured, and has got a pod of 1 CPU since: at 20 % it takes no more."""
    arrived = owned(gang("new", cpu="1", running_on=["a"], phase="Pending"))
    why = said(opened_with(web(), arrived))
    assert why == "none of 2 measured nodes is schedulable and uses less than cpu 20 % and memory 20 %"


def test_what_is_leaving_a_node_counts_as_gone() -> None:
    """Node b uses 80 %; one pod of 1 CPU takes long to end, so two more are enough."""
    leaving = owned(gang("gone", cpu="1", running_on=["b"], deleting=True))
    opened = opened_with(web(), leaving, interval="1m", loads={"a": load(0.1, age=-60), "b": load(0.8, 0.3, age=-60)})
    assert shuffled(opened) == []
    opened.ssn.now = MOMENT + 60
    assert shuffled(opened) == ["web-4", "web-5"]


def test_a_load_that_cannot_be_makes_no_node_an_idle_one() -> None:
    assert "none of 2 measured nodes" in said(opened_with(web(), loads={"a": load(1e300), "b": load(0.8)}))


def test_no_more_pods_are_looked_at_than_a_cycle_can_bear(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two that would come first may not go; the others are left for a later run."""
    kept = gang("kept", pods=2, cpu="1", running_on=["b"] * 2, min_member=1, priority=1)
    assert len(shuffled(opened_with(kept, web(priority=2)))) == 3
    monkeypatch.setattr(module, "_MOST_LOOKED_AT", 3)
    assert len(shuffled(opened_with(kept, web(priority=2)))) == 1


# -- which nodes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loads", "why"),
    [
        pytest.param({}, "the load of no node was measured within the last five minutes", id="nothing measured"),
        pytest.param(
            {"a": load(0.1, age=FRESH_FOR), "b": load(0.8, age=FRESH_FOR)},
            "the load of no node was measured within the last five minutes",
            id="too old",
        ),
        pytest.param(
            {"a": load(0.1), "b": load(0.1)},
            "no node uses more than targetThresholds, cpu 60 % and memory 60 %; 2 use less than thresholds, cpu 20 % "
            "and memory 20 %",
            id="all low",
        ),
        pytest.param(
            {"a": load(0.5), "b": load(0.8)},
            "none of 2 measured nodes is schedulable and uses less than cpu 20 % and memory 20 %",
            id="none low",
        ),
        pytest.param(
            {"a": load(0.2), "b": load(0.8)},
            "none of 2 measured nodes is schedulable and uses less than cpu 20 % and memory 20 %",
            id="at the threshold",
        ),
        pytest.param(
            {"a": load(0.1), "b": load(0.6, 0.6)},
            "no node uses more than targetThresholds, cpu 60 % and memory 60 %; 1 use less than thresholds, cpu 20 % "
            "and memory 20 %",
            id="at the target",
        ),
        pytest.param(
            {"b": load(0.8)},
            "none of 1 measured node is schedulable and uses less than cpu 20 % and memory 20 %",
            id="the idle one not measured",
        ),
        pytest.param(
            {"a": load(0.1, None), "b": load(0.8)},
            "none of 1 measured node is schedulable and uses less than cpu 20 % and memory 20 %",
            id="half measured",
        ),
    ],
)
def test_without_both_sorts_of_nodes_nothing_happens_and_the_reason_is_reported(
    loads: dict[str, Load], why: str
) -> None:
    assert said(opened_with(web(), loads=loads)) == why


def test_a_resource_without_thresholds_need_not_be_measured() -> None:
    params = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 60}}
    opened = opened_with(web(), params=params, loads={"a": load(0.1, None), "b": load(0.8, None)})
    assert len(shuffled(opened)) == 3


def test_a_cordoned_node_takes_none_and_may_lose_some() -> None:
    cordoned = [node("a", cpu="10", memory="40G", unschedulable=True), node("b", cpu="10", memory="40G")]
    assert "is schedulable" in said(opened_with(web(), nodes=cordoned))
    cordoned = [node("a", cpu="10", memory="40G"), node("b", cpu="10", memory="40G", unschedulable=True)]
    assert len(shuffled(opened_with(web(), nodes=cordoned))) == 3


def test_the_most_loaded_node_comes_first() -> None:
    nodes = [node(name, cpu="10", memory="40G") for name in ("a", "b", "c")]
    more = owned(gang("more", pods=3, cpu="1", memory="1G", running_on=["c"] * 3, min_member=1))
    loads = {"a": load(0.1), "b": load(0.7), "c": load(0.9)}
    opened = opened_with(web(), more, nodes=nodes, loads=loads, maxVictims=2)
    assert sorted(shuffled(opened)) == ["more-1", "more-2"]


# -- which pods ----------------------------------------------------------------------------------------------------


def test_low_priorities_go_first_then_weak_classes_of_service_then_the_youngest() -> None:
    pods = [
        *owned(gang("urgent", cpu="1", running_on=["b"], priority=5)),
        *owned(gang("none", cpu="1", running_on=["b"])),
        *owned(gang("low", cpu="1", running_on=["b"], priority=-5)),
        *owned(gang("old", cpu="1", running_on=["b"], priority=-5, age=60)),
    ]
    assert shuffled_order(opened_with(pods, maxVictims=3)) == ["none-0", "low-0", "old-0"]


def shuffled_order(opened: Opened) -> list[str]:
    """The pods in the order in which they were chosen."""
    running = opened.running(*sorted({key.partition("/")[2] for key in opened.ssn.snapshot.job_keys if key}))
    chosen = opened.plugin(Rescheduling).victim_tasks(running)
    return [opened.ssn.task_info(row).ref.name for row in chosen]


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        pytest.param(
            owned(gang("train", pods=3, cpu="1", running_on=["b"] * 3)), "3 are needed by their gangs", id="a gang"
        ),
        pytest.param(
            gang("bare", pods=3, cpu="1", running_on=["b"] * 3, min_member=1),
            "3 have no controller that would create them again",
            id="without a controller",
        ),
        pytest.param(
            web(annotations={"volcano.sh/preemptable": "false"}),
            "6 are protected by the annotation volcano.sh/preemptable",
            id="protected",
        ),
        pytest.param(web(node_selector={"pool": "b"}), "6 fit no node with a low load", id="a node selector"),
        pytest.param(web(pods=2, cpu="11"), "2 request more than the nodes with a low load may take", id="too large"),
        pytest.param(
            web(cpu="", memory=""), "6 request nothing of what their node has too much in use", id="without requests"
        ),
        pytest.param(web(pods=1, on="a"), "no pods of this scheduler run there", id="none"),
    ],
)
def test_pods_that_may_not_go_stay_and_the_reason_is_reported(objects: list[ApiObject], why: str) -> None:
    assert said(opened_with(objects)).partition("; ")[2].removeprefix("pods: ") == why


def test_pods_stay_whose_queue_would_not_take_them_again() -> None:
    """It was given less than it holds: of six pods, it may have four."""
    shrunk = queue("small", capability={"cpu": "4"})
    why = said(opened_with(shrunk, web(queue="small"), others=[Capacity]))
    assert why.endswith("pods: 6 have queues that are closed, over their limits, or full with others waiting")


def test_a_gang_keeps_its_minimum_of_pods_and_of_roles() -> None:
    members = owned(gang("train", pods=6, cpu="1", running_on=["b"] * 6, min_member=4))
    assert shuffled(opened_with(members)) == ["train-4", "train-5"]
    group = pod_group("roles", phase="Running", min_member=3, min_task_member={"ps": 1, "worker": 2})
    roles = ["ps", "ps", "worker", "worker"]
    pods = [plain_pod(f"roles-{at}", group="roles", cpu="1", on="b", role=role) for at, role in enumerate(roles)]
    assert shuffled(opened_with(group, owned(pods))) == ["roles-1"]


def test_a_pod_alone_in_its_job_is_moved() -> None:
    assert shuffled(opened_with(owned(gang("single", cpu="1", running_on=["b"])))) == ["single-0"]


def test_the_last_of_a_job_whose_others_wait_stays() -> None:
    job = owned(gang("web", pods=3, cpu="1", running_on=["b"], min_member=1, node_selector={"pool": "none"}))
    assert "1 are needed by their gangs" in said(opened_with(job))


def test_pods_go_only_where_the_ones_before_have_left_room() -> None:
    """The pods keep apart from each other: node a takes one of them."""
    term = PodAffinityTerm(
        label_selector=LabelSelector(match_labels={"app": "web"}), topology_key="kubernetes.io/hostname"
    )
    apart = Affinity(pod_anti_affinity=PodAffinity(required=[term]))
    labels = {"app": "web"}
    nodes = [node(name, cpu="10", memory="40G", labels={"kubernetes.io/hostname": name}) for name in ("a", "b")]
    opened = opened_with(web(labels=labels, affinity=apart), nodes=nodes)
    assert shuffled(opened) == ["web-5"]


def test_a_pod_that_others_keep_away_from_themselves_stays() -> None:
    """The term is on a pod of node a: running pods are matched as if they were created again."""
    term = PodAffinityTerm(
        label_selector=LabelSelector(match_labels={"app": "web"}), topology_key="kubernetes.io/hostname"
    )
    apart = Affinity(pod_anti_affinity=PodAffinity(required=[term]))
    nodes = [node(name, cpu="10", memory="40G", labels={"kubernetes.io/hostname": name}) for name in ("a", "b")]
    shy = owned(gang("shy", cpu="1", running_on=["a"], affinity=apart))
    assert "6 fit no node" in said(opened_with(web(labels={"app": "web"}), shy, nodes=nodes))


def test_no_node_is_promised_more_than_it_has_free() -> None:
    """Node a has 2 CPUs free, though it uses little of the others."""
    reserved = gang("reserved", cpu="8", running_on=["a"])
    assert len(shuffled(opened_with(web(), reserved))) == 2


def test_of_pods_with_ports_of_the_host_one_goes_in_a_run() -> None:
    with_ports = [
        each
        for number in range(3)
        for each in owned(gang(f"p{number}", cpu="1", running_on=["b"], host_ports=[80 + number]))
    ]
    assert len(shuffled(opened_with(with_ports))) == 1


# -- what protects pods --------------------------------------------------------------------------------------------


def test_system_pods_stay_and_others_go_in_their_place() -> None:
    system = owned(
        gang("dns", namespace="kube-system", pods=3, cpu="1", running_on=["b"] * 3, min_member=1, priority=-9)
    )
    assert sorted(shuffled(opened_with(system, web(), others=[Conformance]))) == ["web-3", "web-4", "web-5"]


def disruptions(allowed: int) -> PodDisruptionBudget:
    """Of the pods labelled app: web."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(namespace=NAMESPACE, name="web", uid="web-budget"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"})),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def test_a_disruption_budget_bounds_how_many_go() -> None:
    opened = opened_with(web(labels={"app": "web"}), disruptions(1), others=[Pdb])
    assert shuffled(opened) == ["web-5"]


def test_a_pod_in_its_cool_down_stays() -> None:
    scheduled = Condition(type="PodScheduled", status="True", last_transition_time=NOW - timedelta(minutes=10))
    pods = [
        msgspec.structs.replace(each, status=msgspec.structs.replace(each.status, conditions=[scheduled]))
        if isinstance(each, Pod)
        else each
        for each in web(annotations={"volcano.sh/cooldown-time": "1h"})
    ]
    assert "pods: 6 are protected by a cool-down until" in said(opened_with(pods, others=[Cdp]))


def test_the_reason_names_each_plugin_that_protects_pods() -> None:
    system = owned(gang("dns", namespace="kube-system", pods=2, cpu="1", running_on=["b"] * 2, min_member=1))
    assert said(opened_with(system, web(), others=[Conformance, Pdb])).endswith(
        "pods: 6 are protected by plugin pdb (they have no labels), 2 are protected as parts of the system"
    )


# -- when ----------------------------------------------------------------------------------------------------------


def test_runs_are_an_interval_apart_and_ask_for_the_next_one() -> None:
    opened = opened_with(web(), interval="2m", maxVictims=1)
    assert len(shuffled(opened)) == 1
    assert opened.ssn.wakeups.next_recheck == MOMENT + 120
    opened.ssn.now = MOMENT + 119
    assert shuffled(opened) == []
    assert opened.ssn.wakeups.next_recheck == MOMENT + 120


def test_a_node_that_lost_pods_is_left_alone_until_it_is_measured_again() -> None:
    opened = opened_with(web(), interval="1m", maxVictims=1)
    assert len(shuffled(opened)) == 1
    opened.ssn.now = MOMENT + 60
    assert said(opened) == "the measured load does not show the last evictions yet"


@pytest.mark.parametrize("what", ["scheduled", "waiting", "leaving"])
def test_after_a_start_the_first_run_waits_if_pods_may_have_been_moved_before(what: str) -> None:
    """An earlier process may have moved them, which the averages do not show."""
    if what == "scheduled":
        condition = Condition(type="PodScheduled", status="True", last_transition_time=NOW - timedelta(seconds=30))
        group, new = owned(gang("new", cpu="1", running_on=["a"]))
        assert isinstance(new, Pod)
        news = [group, msgspec.structs.replace(new, status=msgspec.structs.replace(new.status, conditions=[condition]))]
    elif what == "waiting":
        news = gang("new", cpu="100", age=-86_390)
    else:
        news = gang("new", cpu="1", running_on=["a"], deleting=True)
    loads = {"a": load(0.1, age=-60), "b": load(0.8, 0.3, age=-60)}
    opened = opened_with(web(), news, loads=loads, interval="1m")
    assert shuffled(opened) == []
    assert opened.ssn.wakeups.next_recheck == MOMENT + 60
    assert "the first run is an interval later" in opened.ssn.findings.remarks["rescheduling"]
    opened.ssn.now = MOMENT + 60
    assert len(shuffled(opened)) == 3


def test_a_run_without_measurements_does_not_count() -> None:
    opened = opened_with(web(), loads={})
    assert shuffled(opened) == []
    assert "ran at" not in opened.plugin(Rescheduling).memory
