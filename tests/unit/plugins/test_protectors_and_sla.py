"""pdb and cdp protect pods, sla lets jobs in that have waited long enough."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from tests.support.policies import Ruthless
from tests.support.sessions import NAMESPACE, NOW, gang, node, open_session, pod, pod_group
from tests.support.timeline import Timeline, job
from volcano_py.actions.eviction_arguments import EvictionArguments
from volcano_py.actions.preempt import Preempt
from volcano_py.api.objects import (
    Condition,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodGroup,
)
from volcano_py.api.workloads import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.votes import Vote
from volcano_py.plugins.cdp import Cdp
from volcano_py.plugins.pdb import Pdb
from volcano_py.plugins.priority import Priority
from volcano_py.plugins.sla import Sla


def budget(allowed: int, *, disrupted: tuple[str, ...] = (), **labels: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(namespace=NAMESPACE, name="b", uid="b"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=labels)),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted)),
    )


def victims_under(*budgets: PodDisruptionBudget, evicted: tuple[str, ...] = (), labels: dict[str, str]) -> list[str]:
    opened = open_session(
        node("n1"),
        *gang("web", pods=3, running_on=["n1"] * 3, labels=labels),
        *gang("high"),
        *budgets,
        tiers=[[Ruthless], [Pdb]],
    )
    opened.evict(*evicted)
    return opened.victims("preemptable", "high-0", opened.running("web"))


@pytest.mark.parametrize(("allowed", "count"), [(0, 0), (1, 1), (2, 2), (5, 3)])
def test_as_many_pods_go_as_the_budget_allows(allowed: int, count: int) -> None:
    assert len(victims_under(budget(allowed, app="web"), labels={"app": "web"})) == count


def test_what_was_evicted_in_this_cycle_counts() -> None:
    assert len(victims_under(budget(2, app="web"), evicted=("web-0",), labels={"app": "web"})) == 1


def test_a_pod_whose_disruption_is_counted_already_needs_no_more_of_it() -> None:
    assert victims_under(budget(0, app="web", disrupted=("web-1",)), labels={"app": "web"}) == ["web-1"]


def test_budgets_of_others_and_those_without_a_condition_do_not_matter() -> None:
    assert len(victims_under(budget(0, app="db"), labels={"app": "web"})) == 3
    assert len(victims_under(budget(0), labels={"app": "web"})) == 3


def test_pods_without_labels_are_never_given_up() -> None:
    assert victims_under(labels={}) == []


def scheduled(seconds_ago: float, *, label: str = "", annotation: str = "") -> Pod:
    key = "volcano.sh/cooldown-time"
    made = pod(
        "low-0",
        group="low",
        on="n1",
        labels={key: label} if label else {},
        annotations={key: annotation} if annotation else {},
    )
    moment = NOW - timedelta(seconds=seconds_ago)
    reported = Condition(type="PodScheduled", status="True", last_transition_time=moment)
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=[reported]))


@pytest.mark.parametrize(
    ("running", "is_victim"),
    [
        (scheduled(30, label="1m"), False),
        (scheduled(60, label="1m"), True),
        (scheduled(61, label="1m"), True),
        (scheduled(30, annotation="1m"), False),
        (scheduled(30, label="10s", annotation="1m"), True),
        (scheduled(30, label="soon"), True),
        (scheduled(30), True),
    ],
)
def test_a_pod_is_left_alone_for_its_cooldown(running: Pod, is_victim: bool) -> None:
    opened = open_session(
        node("n1"), pod_group("low", phase="Running"), running, *gang("high"), tiers=[[Ruthless], [Cdp]]
    )
    assert opened.victims("reclaimable", "high-0", opened.running("low")) == (["low-0"] if is_victim else [])


def test_pods_that_may_be_evicted_later_are_considered_again_then() -> None:
    """The end of a cool-down is no event of the cluster."""
    opened = open_session(
        node("n1"),
        pod_group("low", phase="Running"),
        scheduled(45, label="1m"),
        *gang("high"),
        tiers=[[Ruthless], [Cdp]],
    )
    assert opened.victims("reclaimable", "high-0", opened.running("low")) == []
    assert opened.ssn.wakeups.next_recheck == NOW.timestamp() + 15


def test_a_pod_that_does_not_run_yet_is_not_protected() -> None:
    bound = msgspec.structs.replace(scheduled(30, label="1m"))
    starting = msgspec.structs.replace(bound, status=msgspec.structs.replace(bound.status, phase="Pending"))
    opened = open_session(
        node("n1"), pod_group("low", phase="Running"), starting, *gang("high"), tiers=[[Ruthless], [Cdp]]
    )
    assert opened.victims("reclaimable", "high-0", opened.rows("low-0")) == ["low-0"]


@pytest.mark.parametrize("protector", [Pdb, Cdp])
@pytest.mark.parametrize("point", ["preemptable", "reclaimable"])
def test_alone_they_give_up_no_pod(protector: type[Plugin], point: str) -> None:
    """A pod that they do not protect is not a victim just for that."""
    web = gang("web", running_on=["n1"], labels={"app": "web"})
    opened = open_session(node("n1"), *web, *gang("high"), tiers=[[], [protector]])
    assert opened.victims(point, "high-0", opened.running("web")) == []


@pytest.mark.parametrize("allowed", [5, 1, 0])
def test_a_budget_that_is_used_up_does_not_make_an_exchange_final(allowed: int) -> None:
    """Both pods are of one budget. Once it allows another disruption, the one evicted would take its place back."""
    opened = open_session(
        node("n1", cpu="1"),
        *gang("held", running_on=["n1"], cpu="1", labels={"app": "web"}),
        *gang("waits", cpu="1", labels={"app": "web"}),
        budget(allowed, app="web"),
        tiers=[[(Priority, {"enablePreemptable": False}), Ruthless], [Pdb]],
        actions=[Preempt],
    )
    Preempt(EvictionArguments()).execute(opened.ssn)
    assert opened.evictions == []


def waiting(name: str, seconds: float, limit: str = "") -> PodGroup:
    group = pod_group(name, phase="Pending")
    created = NOW - timedelta(seconds=seconds)
    metadata = msgspec.structs.replace(group.metadata, creation_timestamp=created)
    group = msgspec.structs.replace(group, metadata=metadata)
    return with_annotations(group, {"sla-waiting-time": limit} if limit else {})


def with_annotations(group: PodGroup, annotations: dict[str, str]) -> PodGroup:
    metadata = msgspec.structs.replace(group.metadata, annotations=annotations)
    return msgspec.structs.replace(group, metadata=metadata)


@pytest.mark.parametrize(
    ("limit", "vote"), [("", Vote.ABSTAIN), ("2m", Vote.ABSTAIN), ("30s", Vote.PERMIT), ("nonsense", Vote.ABSTAIN)]
)
def test_a_job_past_its_limit_is_admitted(limit: str, vote: Vote) -> None:
    opened = open_session(waiting("train", 60, limit), tiers=[[Sla]])
    plugin, job = opened.plugin(Sla), opened.job("train")
    assert plugin.job_enqueueable(job).vote is vote
    assert plugin.job_pipelined(job).vote is vote


@pytest.mark.parametrize(
    ("annotations", "vote"),
    [
        ({"volcano.sh/sla-waiting-time": "30s"}, Vote.PERMIT),
        ({"volcano.sh/sla-waiting-time": "2m", "sla-waiting-time": "30s"}, Vote.ABSTAIN),
        ({"volcano.sh/sla-waiting-time": "soon", "sla-waiting-time": "30s"}, Vote.PERMIT),
        ({"volcano.sh/sla-waiting-time": "0s"}, Vote.ABSTAIN),
    ],
)
def test_the_annotation_of_today_comes_before_the_old_one(annotations: dict[str, str], vote: Vote) -> None:
    opened = open_session(with_annotations(waiting("train", 60), annotations), tiers=[[Sla]])
    assert opened.plugin(Sla).job_enqueueable(opened.job("train")).vote is vote


def test_the_limit_is_reached_without_anything_else_happening() -> None:
    """A quiet cluster would otherwise leave the job outside until something changes."""
    opened = open_session(waiting("later", 60, "5m"), waiting("soon", 60, "2m"), waiting("never", 60), tiers=[[Sla]])
    for name in ("later", "soon", "never"):
        opened.plugin(Sla).job_enqueueable(opened.job(name))
    assert opened.ssn.wakeups.next_recheck == NOW.timestamp() + 60
    at_last = open_session(waiting("soon", 120, "2m"), tiers=[[Sla]])
    assert at_last.plugin(Sla).job_enqueueable(at_last.job("soon")).vote is Vote.PERMIT
    assert at_last.ssn.wakeups.next_recheck == 0


def test_the_configured_limit_holds_for_jobs_without_their_own() -> None:
    tiers = [[(Sla, {"arguments": {"sla-waiting-time": "45s"}})]]
    opened = open_session(waiting("a", 60), waiting("b", 60, "2m"), tiers=tiers)
    votes = [opened.plugin(Sla).job_enqueueable(opened.job(name)).vote for name in "ab"]
    assert votes == [Vote.PERMIT, Vote.ABSTAIN]


def test_the_job_whose_time_is_up_first_goes_first() -> None:
    opened = open_session(waiting("old", 500), waiting("a", 60, "2m"), waiting("b", 10, "1m"), tiers=[[Sla]])
    assert sorted(("old", "a", "b"), key=lambda name: opened.ssn.ask.job_key(opened.job(name))) == ["b", "a", "old"]


def test_while_it_keeps_places_for_a_job_the_others_are_reported_for_which() -> None:
    """Its time is up, and one of its two pods has a place: the room on n1 is not used, and not free."""
    timeline = Timeline(
        node("n1", cpu="4"),
        *job("gang", pods=2, cpu="3", at=10),
        tiers=[["sla"], ["gang", "predicates"]],
        others={"sla": {"sla-waiting-time": "1m"}},
    )
    timeline.add(*job("small", cpu="2", at=100))
    timeline.at(101)
    assert timeline.placed == {}
    assert timeline.reported("small-0") == ("PlacesHeld: 0/1 nodes are unavailable: 1 node(s) were held for team/gang.")
    assert "held for" not in timeline.reported("gang-0") + timeline.reported("gang-1"), "not for itself"


def test_a_job_that_is_not_admitted_is_reported_for_which_job_places_are_kept() -> None:
    timeline = Timeline(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        *job("runs", cpu="3", on=["n2"]),
        *job("gang", pods=2, cpu="3", at=10, min_resources={"cpu": "6"}, group_phase="Inqueue"),
        tiers=[["sla"], ["gang", "predicates", "overcommit"]],
        others={"sla": {"sla-waiting-time": "1m"}},
    )
    small, _ = job("small", cpu="2", at=100, min_resources={"cpu": "2"}, group_phase="Pending")
    timeline.add(small)
    for seconds in (110, 120):
        timeline.at(seconds)
        assert timeline.group_reported("small").endswith(
            "wait until jobs finish, add nodes or raise the factor. Places on nodes are held for team/gang."
        )


def test_who_is_too_large_for_the_rest_of_a_kept_node_anyway_is_reported_that() -> None:
    timeline = Timeline(
        node("n1", cpu="8"),
        *job("runs", cpu="3", on=["n1"]),
        *job("gang", pods=2, cpu="3", at=10),
        tiers=[["sla"], ["gang", "predicates"]],
        others={"sla": {"sla-waiting-time": "1m"}},
    )
    timeline.add(*job("large", cpu="6", at=100))
    timeline.at(101)
    assert timeline.reported("large-0").startswith("NodesRefuse: 0/1 nodes are unavailable: 1 Insufficient cpu.")
