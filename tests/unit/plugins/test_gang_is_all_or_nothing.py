"""gang: validity, readiness, starvation and order of jobs."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group
from tests.unit.state.watched import Watched, with_meta
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.backfill import Backfill
from volcano_py.api.objects import OwnerReference
from volcano_py.api.reasons import Reason
from volcano_py.config.arguments import NoArguments
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.priority import Priority
from volcano_py.state.table.change import Change
from volcano_py.state.task_class import Refusal


def opened(*objects: Objects, cpu: str = "64") -> Opened:
    return open_session(node("n1", cpu=cpu), *objects, tiers=[[Gang]], actions=[Allocate, Backfill])


def act(session: Opened) -> dict[str, str]:
    """Run allocate and backfill; what was bound."""
    Allocate(NoArguments()).execute(session.ssn)
    Backfill(NoArguments()).execute(session.ssn)
    return session.binds


# -- validity -----------------------------------------------------------------------------------------------------


def test_a_gang_whose_pods_do_not_exist_yet_is_not_tried() -> None:
    session = opened(gang("train", pods=2, min_member=3, cpu="1"))
    assert session.ssn.ask.job_valid(session.job("train")) == Refusal(
        Reason.NOT_ENOUGH_TASKS,
        "PodGroup team/train: 2 pods of this scheduler exist, minMember is 3: create 1 more or lower minMember",
    )
    assert act(session) == {}


def test_the_controller_that_has_to_create_the_missing_pods_is_named() -> None:
    job = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="train", controller=True)
    group = with_meta(pod_group("train", min_member=3), owner_references=[job])
    members = [pod("train-0", group="train", cpu="1"), pod("train-1", group="train", cpu="1", phase="Failed")]
    session = opened(group, *members)
    refusal = session.ssn.ask.job_valid(session.job("train"))
    assert refusal is not None
    assert refusal.message == (
        "PodGroup team/train: 1 pod of this scheduler exists (1 more failed or is being deleted), minMember is "
        "3: wait until Job train creates 2 more (see its events), or lower its minAvailable"
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "fix"),
    [
        (
            "apps/v1",
            "StatefulSet",
            (
                "wait until StatefulSet web creates 2 more (which needs podManagementPolicy Parallel and at least 3 "
                "replicas), or lower its annotation scheduling.volcano.sh/group-min-member"
            ),
        ),
        (
            "batch/v1",
            "Job",
            (
                "wait until Job web creates 2 more (which needs parallelism, and completions if set, of at least 3), "
                "or lower its annotation scheduling.volcano.sh/group-min-member"
            ),
        ),
        (
            "apps/v1",
            "ReplicaSet",
            (
                "wait until ReplicaSet web creates 2 more (which needs at least 3 replicas), or lower the annotation "
                "scheduling.volcano.sh/group-min-member of it or its Deployment"
            ),
        ),
        (
            "apps/v1",
            "DaemonSet",
            (
                "wait until DaemonSet web creates 2 more (see its events), or lower its annotation "
                "scheduling.volcano.sh/group-min-member"
            ),
        ),
        ("kubeflow.org/v1", "PyTorchJob", "wait until PyTorchJob web creates 2 more (see its events), or lower its "),
    ],
)
def test_what_a_generated_group_needs_is_said_of_its_owner(api_version: str, kind: str, fix: str) -> None:
    """A patch of the PodGroup itself would be undone."""
    owner = OwnerReference(api_version=api_version, kind=kind, name="web", uid="u1", controller=True)
    group = with_meta(pod_group("podgroup-u1", min_member=3), owner_references=[owner])
    session = opened(group, pod("web-0", group="podgroup-u1", cpu="1"))
    refusal = session.ssn.ask.job_valid(session.job("podgroup-u1"))
    assert refusal is not None
    assert fix in refusal.message


def test_the_minimum_of_a_group_that_a_controller_wrote_is_that_of_the_group() -> None:
    owner = OwnerReference(api_version="batch/v1", kind="Job", name="web", uid="u1", controller=True)
    group = with_meta(pod_group("web", min_member=3), owner_references=[owner])
    session = opened(group, pod("web-0", group="web", cpu="1"))
    refusal = session.ssn.ask.job_valid(session.job("web"))
    assert refusal is not None
    assert refusal.message.endswith("wait until Job web creates 2 more (see its events), or lower minMember")


def test_pods_that_failed_do_not_count_for_validity_and_succeeded_ones_do() -> None:
    session = opened(
        pod_group("train", min_member=2),
        pod("train-0", group="train", cpu="1", phase="Succeeded"),
        pod("train-1", group="train", cpu="1", phase="Failed"),
        pod("train-2", group="train", cpu="1"),
    )
    assert session.ssn.ask.job_valid(session.job("train")) is None
    assert session.ssn.ask.job_ready(session.job("train")) is False
    assert act(session) == {"train-2": "n1"}


@pytest.mark.parametrize("phases", [*combinations_with_replacement(("Pending", "Running", "Succeeded", "Failed"), 3)])
def test_what_the_state_calls_incomplete_is_refused_and_nothing_else(phases: tuple[str, ...]) -> None:
    """Cycles are started by that: a gang that is complete must not wait."""
    others = [pod(f"old-{number}", group="g", on="n1", phase=phase) for number, phase in enumerate(phases)]
    objects = [node("n1"), pod_group("g", min_member=3), *others]
    watched = Watched(objects)
    watched.put(last := pod("new", group="g"))
    session = opened(*objects, last)
    is_refused = session.ssn.ask.job_valid(session.job("g")) is not None
    assert watched.reported() == [Change.INCOMPLETE if is_refused else Change.DECISION]


@pytest.mark.parametrize(("min_member", "is_valid"), [(3, False), (2, True)])
def test_minimums_of_roles_hold_only_when_min_member_covers_their_sum(min_member: int, is_valid: bool) -> None:
    session = opened(
        pod_group("train", min_member=min_member, min_task_member={"master": 1, "worker": 2}),
        *(pod(f"train-worker-{index}", group="train", role="worker", cpu="1") for index in range(4)),
    )
    refusal = session.ssn.ask.job_valid(session.job("train"))
    assert (refusal is None) is is_valid
    if refusal is not None:
        assert refusal.reason is Reason.NOT_ENOUGH_TASKS
        assert "minTaskMember is not met (role master has 0 of 1 pods): create 1 more" in refusal.message


# -- readiness ----------------------------------------------------------------------------------------------------


def test_a_gang_that_fits_in_part_is_not_bound_at_all() -> None:
    assert act(opened(gang("train", pods=3, cpu="1"), cpu="2")) == {}


def test_a_gang_that_fits_is_bound_as_a_whole() -> None:
    assert len(act(opened(gang("train", pods=3, cpu="1"), cpu="3"))) == 3


def test_beyond_the_minimum_pods_are_bound_as_they_fit() -> None:
    assert len(act(opened(gang("train", pods=3, min_member=1, cpu="1"), cpu="2"))) == 2


@pytest.mark.parametrize("min_member", [0, 1])
def test_without_a_minimum_every_job_is_ready(min_member: int) -> None:
    session = opened(gang("train", pods=2, min_member=min_member, cpu="1"))
    assert session.ssn.ask.job_ready(session.job("train")) is (min_member == 0)
    assert len(act(session)) == 2


def test_pods_that_ask_for_nothing_count_before_they_are_placed() -> None:
    session = opened(
        pod_group("train", min_member=2),
        pod("train-light", group="train"),
        pod("train-heavy", group="train", cpu="1"),
    )
    job = session.job("train")
    assert session.ssn.ask.tasks_to_ready(job) == 1
    session.place("train", {"train-heavy": "n1"}).discard()
    assert not session.ssn.ask.job_ready(job)
    assert act(session) == {"train-heavy": "n1", "train-light": "n1"}
    assert session.ssn.ask.job_ready(job)


def test_a_gated_pod_that_asks_for_nothing_does_not_count() -> None:
    session = opened(
        pod_group("train", min_member=2),
        pod("train-light", group="train", gates=["example.com/wait"]),
        pod("train-heavy", group="train", cpu="1"),
    )
    assert act(session) == {}


def test_roles_must_have_their_minimum_too() -> None:
    session = opened(
        pod_group("train", min_member=3, min_task_member={"master": 1, "worker": 2}),
        pod("train-master-0", group="train", role="master", cpu="1"),
        *(pod(f"train-worker-{index}", group="train", role="worker", cpu="1") for index in range(3)),
    )
    job = session.job("train")
    assert session.ssn.ask.tasks_to_ready(job) == 3
    statement = session.place("train", {f"train-worker-{index}": "n1" for index in range(3)})
    assert not session.ssn.ask.job_ready(job), "three of three, but the master is missing"
    assert session.ssn.ask.tasks_to_ready(job) == 1
    assert not session.ssn.ask.job_pipelined(job)
    session.pipeline("train", {"train-master-0": "n1"}, statement)
    assert session.ssn.ask.job_pipelined(job)
    assert not session.ssn.ask.job_ready(job)


def test_a_light_pod_of_a_role_counts_for_its_role() -> None:
    session = opened(
        pod_group("train", min_member=2, min_task_member={"master": 1, "worker": 1}),
        pod("train-master-0", group="train", role="master"),
        pod("train-worker-0", group="train", role="worker", cpu="1"),
    )
    session.place("train", {"train-worker-0": "n1"})
    assert session.ssn.ask.job_ready(session.job("train"))


def test_it_is_pipelined_when_what_is_promised_would_complete_it() -> None:
    session = opened(gang("train", pods=3, cpu="1"))
    job = session.job("train")
    statement = session.place("train", {"train-0": "n1", "train-1": "n1"})
    assert not session.ssn.ask.job_pipelined(job)
    session.pipeline("train", {"train-2": "n1"}, statement)
    assert session.ssn.ask.job_pipelined(job)
    statement.discard()
    assert not session.ssn.ask.job_pipelined(job)


# -- starvation ---------------------------------------------------------------------------------------------------


def test_a_job_starves_below_its_minimum_only() -> None:
    session = opened(gang("train", pods=4, min_member=2, cpu="1", running_on=["n1"]))
    job = session.job("train")
    assert session.ssn.ask.job_starving(job)
    session.pipeline("train", {"train-1": "n1"})
    assert not session.ssn.ask.job_starving(job)


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_between_queues_a_job_starves_until_all_its_pods_have_a_place(action: str) -> None:
    session = opened(gang("train", pods=3, min_member=1, cpu="1", running_on=["n1"]))
    session.ssn.action = action
    job = session.job("train")
    session.pipeline("train", {"train-1": "n1"})
    assert session.ssn.ask.job_starving(job)
    session.pipeline("train", {"train-2": "n1"})
    assert not session.ssn.ask.job_starving(job)


def test_gang_and_priority_must_agree_that_a_job_starves() -> None:
    objects = (node("n1"), gang("train", pods=2, min_member=1, cpu="1", running_on=["n1"]))
    both = open_session(*objects, tiers=[[Priority, Gang]])
    assert not both.ssn.ask.job_starving(both.job("train"))
    without = open_session(*objects, tiers=[[Priority, (Gang, {"enableJobStarving": False})]])
    assert without.ssn.ask.job_starving(without.job("train"))


def test_no_job_starves_when_no_plugin_says_so() -> None:
    session = open_session(gang("train", cpu="1"), tiers=[[(Gang, {"enableJobStarving": False})]])
    assert not session.ssn.ask.job_starving(session.job("train"))


# -- order --------------------------------------------------------------------------------------------------------


def test_jobs_that_are_not_ready_go_first_and_those_bound_in_part_before_them() -> None:
    session = opened(
        gang("ready", pods=2, min_member=1, cpu="1", running_on=["n1"], age=30),
        gang("new", pods=2, cpu="1", age=20),
        gang("in-part", pods=2, cpu="1", running_on=["n1"], age=10),
    )
    jobs = sorted(map(session.job, ("ready", "new", "in-part")), key=session.ssn.ask.job_key)
    assert [job.info.ref.name for job in jobs] == ["in-part", "new", "ready"]


def test_a_job_moves_back_once_it_is_ready() -> None:
    session = opened(gang("first", pods=2, min_member=1, cpu="1", age=10), gang("second", pods=1, cpu="1"))
    first, second = session.job("first"), session.job("second")
    assert session.ssn.ask.job_key(first) < session.ssn.ask.job_key(second)
    session.place("first", {"first-0": "n1"})
    assert session.ssn.ask.job_key(first) > session.ssn.ask.job_key(second)
