"""Jobs grouped by what they belong to: what is old, late or another client's changes nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from volcano_py.jobs.model import VolcanoJob
from volcano_py.operator.jobs.jobs_by_owner import JobsByOwner, controller_key


def job(
    name: str = "a",
    *,
    version: int = 1,
    uid: str = "",
    owner: str = "x",
    kind: str = "CronJob",
    api: str = "batch",
    **m: Any,
) -> VolcanoJob:
    reference = {"apiVersion": f"{api}.volcano.sh/v1alpha1", "kind": kind, "name": owner, "controller": True}
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
        "ownerReferences": [reference] if owner else [],
        **m,
    }
    return msgspec.convert({"metadata": metadata}, VolcanoJob)


class Known:
    """What is known, and which groups were said to have changed."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self.jobs = JobsByOwner(controller_key("CronJob", "batch.volcano.sh"), self.changed.append)

    def names(self, owner: str = "x") -> list[str]:
        return [each.metadata.name for each in self.jobs.of(f"ns/{owner}")]


@pytest.fixture
def known() -> Known:
    return Known()


def test_jobs_are_found_by_their_owner(known: Known) -> None:
    for each in (job("a"), job("b", owner="y"), job("c", owner="")):
        known.jobs.note(each)
    assert (known.names("x"), known.names("y"), known.changed) == (["a"], ["b"], ["ns/x", "ns/y"])


@pytest.mark.parametrize("other", [{"kind": "JobFlow"}, {"api": "flow"}])
def test_jobs_of_another_kind_of_owner_are_ignored(known: Known, other: dict[str, Any]) -> None:
    known.jobs.note(job("a", **other))
    assert (known.names(), known.changed) == ([], [])


def test_what_is_known_already_or_older_is_no_change(known: Known) -> None:
    known.jobs.note(job(version=5))
    known.jobs.note(job(version=5))
    known.jobs.note(job(version=4, labels={"old": "yes"}))
    assert known.changed == ["ns/x"]
    assert known.jobs.of("ns/x") == [job(version=5)]


def test_a_deletion_that_comes_late_does_not_take_the_namesake(known: Known) -> None:
    known.jobs.note(job(uid="first"))
    known.jobs.note(job(uid="second", version=2))
    known.jobs.forget(job(uid="first").metadata)
    assert [each.metadata.uid for each in known.jobs.of("ns/x")] == ["second"]


def test_both_owners_hear_of_a_job_that_changes_hands(known: Known) -> None:
    known.jobs.note(job(uid="first"))
    known.changed.clear()
    known.jobs.note(job(uid="second", owner="y", version=2))
    assert (known.names("x"), known.names("y"), known.changed) == ([], ["a"], ["ns/x", "ns/y"])


def test_a_job_may_lose_its_owner_and_get_it_back(known: Known) -> None:
    for version, owner in enumerate(("x", "", "x")):
        known.jobs.note(job(owner=owner, version=version))
        assert known.names() == (["a"] if owner else [])


def test_a_list_says_what_is_gone(known: Known) -> None:
    for name in "abc":
        known.jobs.note(job(name))
    known.jobs.replace([job("b"), job("d")])
    assert sorted(known.names()) == ["b", "d"]


def test_what_we_have_deleted_counts_as_being_deleted_until_it_is_gone(known: Known) -> None:
    known.jobs.note(job())
    known.jobs.note_deleting(job())
    (marked,) = known.jobs.of("ns/x")
    assert marked.metadata.deletion_timestamp is not None
    known.jobs.note_deleting(job(uid="another"))
    known.jobs.note_deleting(job("unknown"))
    assert known.names() == ["a"]
