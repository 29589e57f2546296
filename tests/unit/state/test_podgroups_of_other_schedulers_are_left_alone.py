"""Which PodGroups belong to other schedulers: a cycle does not know them, so nothing about them is written."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import NAMESPACE, pod, pod_group
from tests.unit.state.watched import Watched, on, with_meta
from volcano_py.api.objects import ObjectMeta, OwnerReference, PodGroup
from volcano_py.api.workloads import PodTemplate, TemplateSpec, Workload, WorkloadSpec
from volcano_py.jobs.model import JobMeta, JobSpec, VolcanoJob
from volcano_py.state.table.change import Change

OTHER = "default-scheduler"


def is_judged(watched: Watched, group: str = "g") -> bool:
    """Whether a cycle knows the PodGroup, by column and by object."""
    known = bool(watched.job_column(group, "known"))
    assert known is (watched.snapshot().jobs[watched.job(group)] is not None)
    return known


def owned(kind: str, uid: str, api: str = "apps/v1") -> PodGroup:
    owner = OwnerReference(api_version=api, kind=kind, name="owner", uid=uid, controller=True)
    group: PodGroup = with_meta(pod_group("g"), owner_references=[owner])
    return group


def replica_set(scheduler: str, uid: str = "rs") -> Workload:
    spec = WorkloadSpec(template=PodTemplate(spec=TemplateSpec(scheduler_name=scheduler)))
    return Workload(metadata=ObjectMeta(namespace=NAMESPACE, name="owner", uid=uid), spec=spec)


def job(scheduler: str, uid: str = "job") -> VolcanoJob:
    metadata = JobMeta(namespace=NAMESPACE, name="owner", uid=uid)
    return VolcanoJob(metadata=metadata, spec=JobSpec(scheduler_name=scheduler))


@pytest.mark.parametrize("node", ["", "n1"], ids=["waiting", "placed"])
def test_a_podgroup_with_pods_of_others_alone_is_theirs(node: str) -> None:
    theirs = on(pod("a", group="g", scheduler=OTHER), node, "Running" if node else "Pending")
    assert not is_judged(Watched(pod_group("g"), theirs))
    assert not is_judged(Watched(theirs, pod_group("g")))


def test_one_pod_of_ours_makes_it_ours() -> None:
    watched = Watched(pod_group("g"), pod("a", group="g", scheduler=OTHER))
    watched.put(pod("b", group="g"))
    assert is_judged(watched)
    watched.delete(pod("b", group="g"))
    assert not is_judged(watched)


def test_that_it_becomes_ours_or_theirs_starts_a_cycle() -> None:
    watched = Watched(pod_group("g"))
    watched.put(pod("a", group="g", scheduler=OTHER))
    assert watched.reported() == [Change.DECISION]
    watched.put(pod("b", group="g", scheduler=OTHER))
    assert watched.reported() == []


def test_pods_that_name_no_podgroup_or_another_one_make_it_nobodys() -> None:
    watched = Watched(pod_group("g"), pod("a", scheduler=OTHER), pod("b", group="h", scheduler=OTHER))
    assert is_judged(watched)


def test_it_is_theirs_until_the_last_of_their_pods_is_gone() -> None:
    watched = Watched(pod_group("g"), pod("a", group="g", scheduler=OTHER), pod("b", group="g", scheduler=OTHER))
    watched.delete(pod("a", group="g", scheduler=OTHER))
    assert not is_judged(watched)
    watched.delete(pod("b", group="g", scheduler=OTHER))
    assert is_judged(watched)


def test_a_list_of_pods_that_lacks_theirs_removes_them() -> None:
    watched = Watched(pod_group("g"), pod("a", group="g", scheduler=OTHER), pod("b", group="g", scheduler=OTHER))
    watched.state.replace("Pod", [pod("b", group="g", scheduler=OTHER)])
    assert not is_judged(watched)
    watched.state.replace("Pod", [])
    assert is_judged(watched)


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
@pytest.mark.parametrize(("scheduler", "judged"), [("volcano", True), (OTHER, False), ("", False)])
def test_without_pods_the_template_of_its_owner_decides(kind: str, scheduler: str, judged: bool) -> None:
    watched = Watched(owned(kind, "rs"))
    assert is_judged(watched)
    watched.state.upsert(kind, replica_set(scheduler))
    assert is_judged(watched) is judged
    watched.state.delete(kind, replica_set(scheduler))
    assert is_judged(watched)


def test_an_owner_that_was_seen_first_counts_as_well() -> None:
    watched = Watched()
    watched.state.upsert("ReplicaSet", replica_set(OTHER))
    watched.put(owned("ReplicaSet", "rs"))
    assert not is_judged(watched)


def test_an_owner_of_the_same_name_with_another_uid_is_another() -> None:
    watched = Watched(owned("ReplicaSet", "new"))
    watched.state.upsert("ReplicaSet", replica_set(OTHER, uid="old"))
    assert is_judged(watched)
    watched.state.upsert("ReplicaSet", replica_set(OTHER, uid="new"))
    assert not is_judged(watched)


@pytest.mark.parametrize(("scheduler", "judged"), [("volcano", True), (OTHER, False)])
def test_where_jobs_are_followed_the_podgroup_of_a_job_waits_until_the_job_was_seen(
    scheduler: str, judged: bool
) -> None:
    watched = Watched(owned("Job", "job", "batch.volcano.sh/v1alpha1"), follows_jobs=True)
    assert not is_judged(watched)
    watched.state.upsert("VolcanoJob", job(scheduler))
    assert is_judged(watched) is judged


def test_a_job_that_names_no_scheduler_is_ours() -> None:
    watched = Watched(owned("Job", "job", "batch.volcano.sh/v1alpha1"), follows_jobs=True, scheduler_names=["mine"])
    watched.state.upsert("VolcanoJob", job(""))
    assert is_judged(watched)


def test_where_jobs_are_not_followed_the_podgroup_of_an_unknown_job_is_judged() -> None:
    assert is_judged(Watched(owned("Job", "job", "batch.volcano.sh/v1alpha1")))


@pytest.mark.parametrize(("names", "judged"), [(["volcano"], True), (["trial"], False), (["trial", "volcano"], True)])
def test_a_podgroup_without_pods_and_known_owner_belongs_to_volcano(names: list[str], judged: bool) -> None:
    watched = Watched(pod_group("g"), scheduler_names=names)
    assert is_judged(watched) is judged
    watched.put(pod("a", group="g", scheduler=names[0]))
    assert is_judged(watched)


def test_an_edit_of_the_podgroup_changes_nothing_about_it() -> None:
    watched = Watched(pod_group("g"), pod("a", group="g", scheduler=OTHER))
    watched.put(msgspec.structs.replace(pod_group("g", phase="Running")))
    assert not is_judged(watched)


def test_a_trial_leaves_the_queues_that_podgroups_of_others_are_in() -> None:
    theirs, ours = pod_group("g", queue="shared"), pod_group("h", queue="own")
    objects = [theirs, ours, pod("b", group="h", scheduler="trial")]
    assert Watched(*objects, scheduler_names=["trial"]).snapshot().left_queues == {"shared"}
    assert Watched(theirs, pod("a", group="g", scheduler=OTHER)).snapshot().left_queues == set()
