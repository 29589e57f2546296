"""Quotas of a namespace: what is used, promised to jobs without pods, and asked for, under the names quotas have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.sessions import NAMESPACE, Opened, gang, node, open_session, pod_group
from volcano_py.api.objects import ObjectMeta, PodStatus, ResourceQuotaSpec, ResourceQuotaStatus
from volcano_py.api.objects import ResourceQuota as Quota
from volcano_py.api.reasons import Reason
from volcano_py.framework.votes import Vote
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.resourcequota import ResourceQuota
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.change import Change


def quota(name: str = "compute", used: Any = None, scopes: Any = None, **hard: str) -> Quota:
    amounts: dict[str, str | int | float] = {key.replace("__", "."): value for key, value in hard.items()}
    return Quota(
        metadata=ObjectMeta(namespace=NAMESPACE, name=name, uid=f"quota-{name}"),
        spec=ResourceQuotaSpec(hard=dict(amounts), scopes=scopes or []),
        status=ResourceQuotaStatus(hard=dict(amounts), used=dict(used or {})),
    )


def asking(name: str, members: int = 1, phase: str = "Pending", **amounts: str) -> Any:
    resources = {key.replace("__", "."): value for key, value in amounts.items()}
    return pod_group(name, min_member=members, min_resources=resources, phase=phase)


def opened_with(*objects: Any) -> Opened:
    return open_session(node("n1", cpu="64"), *objects, tiers=[[Gang, ResourceQuota]])


def reported(opened: Opened, job: str) -> str:
    """Why the job may not enter, "" when it may."""
    ballot = opened.ssn.ask.job_enqueueable(opened.job(job))
    if ballot.vote is Vote.PERMIT:
        return ""
    assert ballot.refusal is not None
    assert ballot.refusal.reason is Reason.OVER_QUOTA
    return ballot.refusal.message


def test_exactly_the_rest_is_fine_and_a_unit_more_is_not() -> None:
    opened = opened_with(quota(cpu="8", used={"cpu": "4"}), asking("fits", cpu="4"), asking("not", cpu="4001m"))
    assert reported(opened, "fits") == ""
    assert reported(opened, "not") == (
        f"namespace {NAMESPACE}: 4 cpu used + 4.001 asked > 8 of ResourceQuota compute; wait until pods of the "
        "namespace finish, or raise the quota"
    )


@pytest.mark.parametrize(
    ("hard", "amounts"),
    [
        pytest.param({"cpu": "3"}, {"cpu": "4"}, id="as it is"),
        pytest.param({"requests__cpu": "3"}, {"cpu": "4"}, id="a quota on requests"),
        pytest.param({"cpu": "3"}, {"requests__cpu": "4"}, id="minResources speak of requests"),
        pytest.param({"limits__memory": "3Gi"}, {"limits__memory": "4Gi"}, id="limits"),
        pytest.param({"requests__nvidia.com/gpu": "3"}, {"nvidia.com/gpu": "4"}, id="devices"),
        pytest.param({"pods": "3"}, {"cpu": "1"}, id="as many pods as minMember"),
        pytest.param({"count/pods": "3"}, {"cpu": "1"}, id="pods by count"),
    ],
)
def test_names_of_quotas_and_of_min_resources_are_understood(hard: dict[str, str], amounts: dict[str, str]) -> None:
    opened = opened_with(quota(**hard), asking("job", members=4, **amounts))
    assert "ResourceQuota compute" in reported(opened, "job")
    roomy = {name: "4Gi" if "memory" in name else "4" for name in hard}
    assert reported(opened_with(quota(**roomy), asking("job", members=4, **amounts)), "job") == ""


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(quota(limits__cpu="1"), id="limits are not asked for"),
        pytest.param(quota(services="0"), id="no matter of pods"),
        pytest.param(quota(cpu="0", scopes=["BestEffort"]), id="with a scope"),
        pytest.param(quota(cpu="plenty"), id="cannot be read"),
        pytest.param(quota(volcano__sh="1"), id="of another kind"),
    ],
)
def test_quotas_that_say_nothing_of_the_job_let_it_in(other: Quota) -> None:
    assert reported(opened_with(other, asking("job", members=4, cpu="4")), "job") == ""


def test_every_quota_must_have_room() -> None:
    opened = opened_with(quota("wide", cpu="10"), quota("narrow", cpu="2"), asking("job", cpu="4"))
    assert "4 asked > 2 of ResourceQuota narrow" in reported(opened, "job")


def test_what_enters_in_a_cycle_is_promised_to_it() -> None:
    opened = opened_with(quota(cpu="8"), asking("one", cpu="6"), asking("two", cpu="3"), asking("three", cpu="2"))
    assert reported(opened, "one") == ""
    opened.ssn.ask.job_enqueued(opened.job("one"))
    assert "0 cpu used + 6 promised + 3 asked > 8" in reported(opened, "two")
    assert reported(opened, "three") == ""


def test_so_is_what_entered_before_and_has_no_pods_yet() -> None:
    opened = opened_with(quota(cpu="8"), asking("earlier", phase="Inqueue", cpu="6"), asking("job", cpu="3"))
    assert "0 cpu used + 6 promised + 3 asked > 8" in reported(opened, "job")


def test_pods_that_exist_are_in_used_and_nowhere_else() -> None:
    opened = opened_with(
        quota(cpu="8", pods="4", used={"cpu": "4", "pods": "2"}),
        gang("half", pods=2, min_member=4, cpu="2", min_resources={"cpu": "8"}, group_phase="Inqueue"),
        asking("job", cpu="1"),
    )
    assert "4 cpu used + 4 promised + 1 asked > 8" in reported(opened, "job")


def test_a_pod_that_has_finished_is_made_up_for_by_another() -> None:
    half = gang("half", pods=2, min_member=2, cpu="2", min_resources={"cpu": "4"}, group_phase="Pending")
    group, first, second = half
    done = msgspec.structs.replace(first, status=PodStatus(phase="Failed"))
    with_both = opened_with(quota(cpu="4", pods="2", used={"cpu": "4", "pods": "2"}), group, first, second)
    assert reported(with_both, "half") == ""
    with_one = opened_with(quota(cpu="4", used={"cpu": "4"}), group, done, second)
    assert "4 cpu used + 2 asked > 4" in reported(with_one, "half")
    assert "2 pods used + 1 asked > 2" in reported(
        opened_with(quota(pods="2", used={"pods": "2"}), group, done, second), "half"
    )


def test_fewer_pods_than_the_minimum_are_never_asked_for() -> None:
    assert "0 pods used + 4 asked > 3" in reported(
        opened_with(quota(pods="3"), asking("job", members=4, pods="1")), "job"
    )
    assert "0 pods used + 6 asked > 5" in reported(
        opened_with(quota(pods="5"), asking("job", members=4, pods="6")), "job"
    )


def test_limits_of_pods_that_exist_are_taken_to_be_their_part() -> None:
    half = gang("half", pods=1, min_member=2, cpu="1", min_resources={"limits.cpu": "4"}, group_phase="Pending")
    assert reported(opened_with(quota(limits__cpu="3", used={"limits.cpu": "1"}), half), "half") == ""
    assert "2 limits.cpu used + 2 asked > 3" in reported(
        opened_with(quota(limits__cpu="3", used={"limits.cpu": "2"}), half), "half"
    )


def test_a_quota_that_eases_wakes_the_scheduler_and_one_that_fills_does_not() -> None:
    woken: list[Change] = []
    state = ClusterState(on_change=woken.append)
    steps = [
        (quota(cpu="8", used={"cpu": "1"}), [Change.DECISION]),
        (quota(cpu="8", used={"cpu": "4"}), []),
        (quota(cpu="8", used={"cpu": "3"}), [Change.DECISION]),
        (quota(cpu="9", used={"cpu": "3"}), [Change.DECISION]),
    ]
    for changed, expected in steps:
        woken.clear()
        state.upsert("ResourceQuota", changed)
        assert woken == expected
    assert state.snapshot(0.0).quotas[NAMESPACE][0].hard == {"cpu": 9000}
    state.delete("ResourceQuota", steps[-1][0])
    assert state.snapshot(0.0).quotas == {}
