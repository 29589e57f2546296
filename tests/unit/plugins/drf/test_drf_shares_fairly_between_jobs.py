"""drf without hierarchy: order of jobs by dominant share, and the victims that fairness allows."""

from __future__ import annotations

import pytest

from tests.support.sessions import Opened, gang, node, open_session, pod, pod_group
from volcano_py.actions.allocate import Allocate
from volcano_py.plugins.drf import Drf

GPU = "nvidia.com/gpu"


def share(session: Opened, job: str) -> object:
    return session.plugin(Drf).job_order(session.job(job))


def test_the_share_is_the_largest_part_of_any_resource() -> None:
    session = open_session(
        node("n1", cpu="10", memory="100Gi", devices={GPU: "20"}),
        gang("job", pods=2, cpu="1", running_on=["n1", "n1"], devices={GPU: "3"}),
        tiers=[[Drf]],
    )
    assert share(session, "job") == pytest.approx(0.3)


def test_places_for_pods_are_a_resource_too() -> None:
    session = open_session(node("n1", pods="10"), gang("job", pods=3, running_on=["n1"] * 3), tiers=[[Drf]])
    assert share(session, "job") == pytest.approx(0.3)


def test_in_an_empty_cluster_all_shares_are_zero() -> None:
    session = open_session(gang("job", cpu="1"), tiers=[[Drf]])
    assert share(session, "job") == 0.0


def test_a_job_that_is_being_deleted_holds_what_its_pods_have_not_left_yet() -> None:
    session = open_session(
        node("n1", cpu="10"),
        pod_group("job"),
        pod("job-0", group="job", cpu="5", on="n1", deleting=True),
        tiers=[[Drf]],
    )
    assert share(session, "job") == 0.5


def test_the_job_with_the_least_goes_first_and_the_order_follows_what_is_placed() -> None:
    session = open_session(
        node("n1", cpu="10"),
        gang("old", pods=3, min_member=1, cpu="1", age=10),
        gang("new", pods=3, min_member=1, cpu="1"),
        tiers=[[Drf]],
    )
    old, new = session.job("old"), session.job("new")
    assert session.ssn.ask.job_key(old) < session.ssn.ask.job_key(new), "equal shares: the older one"
    statement = session.place("old", {"old-0": "n1"})
    session.pipeline("old", {"old-1": "n1"}, statement)
    assert share(session, "old") == pytest.approx(0.2), "what is promised counts"
    assert session.ssn.ask.job_key(new) < session.ssn.ask.job_key(old)
    statement.discard()
    assert share(session, "old") == 0.0, "what is given back does not"


def test_an_eviction_lowers_the_share_and_taking_it_back_restores_it() -> None:
    session = open_session(node("n1", cpu="10"), gang("job", pods=4, cpu="1", running_on=["n1"] * 4), tiers=[[Drf]])
    before = share(session, "job")
    statement = session.evict("job-0", "job-1")
    assert share(session, "job") == pytest.approx(0.2)
    statement.discard()
    assert share(session, "job") == before


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        # 10 cpu; the preemptor's job holds `mine` and wants 1 more, the other job holds `theirs`
        (0, 10, 9),  # .1 against .9, .8, … .1: equal is allowed, the last would leave .0
        (3, 6, 2),  # .4 against .5, .4, .3
        (4, 5, 0),  # .5 against .4
        (4, 6, 1),  # .5 against .5
    ],
)
def test_jobs_are_victims_while_they_keep_as_much_as_the_preemptor_gets(mine: int, theirs: int, expected: int) -> None:
    session = open_session(
        node("n1", cpu="10"),
        gang("mine", pods=mine + 1, min_member=1, cpu="1", running_on=["n1"] * mine),
        gang("theirs", pods=theirs, min_member=1, cpu="1", running_on=["n1"] * theirs),
        tiers=[[Drf]],
    )
    assert len(session.victims("preemptable", f"mine-{mine}", session.running("theirs"))) == expected


def test_a_candidate_that_is_spared_still_counts_for_those_after_it() -> None:
    """As in Volcano: the running copy goes down with every candidate looked at, chosen or not."""
    session = open_session(
        node("n1", cpu="10"),
        gang("mine", cpu="2"),
        pod_group("theirs", phase="Running"),
        pod("theirs-big", group="theirs", cpu="3", on="n1", priority=1),
        pod("theirs-small", group="theirs", cpu="1", on="n1", priority=2),
        tiers=[[Drf]],
    )
    # .2 against .1 (of 4, after 3) and 0 (after 1 more); by itself the small one would leave .3
    assert session.victims("preemptable", "mine-0", session.running("theirs")) == []
    assert session.victims("preemptable", "mine-0", session.rows("theirs-small")) == ["theirs-small"]


def test_victims_of_several_jobs_are_judged_job_by_job() -> None:
    session = open_session(
        node("n1", cpu="10"),
        gang("mine", cpu="1"),
        gang("rich", pods=4, min_member=1, cpu="1", running_on=["n1"] * 4),
        gang("poor", pods=1, min_member=1, cpu="1", running_on=["n1"]),
        tiers=[[Drf]],
    )
    assert len(session.victims("preemptable", "mine-0", session.running("rich"))) == 3
    assert session.victims("preemptable", "mine-0", session.running("poor")) == []
    assert len(session.victims("preemptable", "mine-0", session.running("poor", "rich"))) == 3


def test_jobs_of_a_queue_end_up_with_equal_shares_when_they_take_turns() -> None:
    session = open_session(
        node("n1", cpu="9", devices={GPU: "18"}),
        gang("cpu-job", pods=9, min_member=1, cpu="1", devices={GPU: "4"}),
        gang("gpu-job", pods=9, min_member=1, cpu="3", devices={GPU: "1"}),
        tiers=[[Drf]],
        actions=[Allocate],
    )
    Allocate(None).execute(session.ssn)
    # The example of the paper: 3 tasks of the one and 2 of the other, both with a share of 2/3.
    placed = [name.rpartition("-")[0] for name in session.binds]
    assert (placed.count("cpu-job"), placed.count("gpu-job")) == (3, 2)
    assert share(session, "cpu-job") == share(session, "gpu-job") == pytest.approx(2 / 3)
