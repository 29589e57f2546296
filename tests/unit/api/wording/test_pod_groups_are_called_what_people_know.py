"""A PodGroup whose name has a UID is called by its owner; all others by their own name."""

from __future__ import annotations

import pytest

from volcano_py.api.objects import OwnerReference
from volcano_py.api.wording.owned import all_called, as_argument, called


def owner(kind: str, name: str, api_version: str) -> OwnerReference:
    return OwnerReference(api_version=api_version, kind=kind, name=name, uid="0d3a", controller=True)


@pytest.mark.parametrize(
    ("key", "of", "expected"),
    [
        ("ml/podgroup-0d3a", owner("ReplicaSet", "web-5d8f", "apps/v1"), "ml/web-5d8f (ReplicaSet)"),
        ("ml/podgroup-0d3a", owner("Pod", "alone", "v1"), "ml/alone (Pod)"),
        ("ml/podgroup-0d3a", owner("Job", "count", "batch/v1"), "ml/count (Job)"),
        ("ml/train-0d3a", owner("Job", "train", "batch.volcano.sh/v1alpha1"), "ml/train (Job)"),
        ("ml/group-0", owner("LeaderWorkerSet", "serve", "leaderworkerset.x-k8s.io/v1"), "ml/group-0"),
        ("ml/podgroup-0d3a", None, "ml/podgroup-0d3a"),
        ("ml/podgroup-0d3a", owner("ReplicaSet", "", "apps/v1"), "ml/podgroup-0d3a"),
        ("ml/train", None, "ml/train"),
    ],
)
def test_only_names_with_a_uid_give_way_to_the_owner(key: str, of: OwnerReference | None, expected: str) -> None:
    """An operator may have several PodGroups for one owner: these keep their names."""
    assert called(key, of) == expected


def test_workloads_of_one_name_are_told_apart() -> None:
    """Volcano and Kubernetes both have Jobs, and a workload that is created again has another PodGroup."""
    owners = {
        "ml/web-77": owner("Job", "web", "batch.volcano.sh/v1alpha1"),
        "ml/podgroup-0d3a": owner("Job", "web", "batch/v1"),
        "ml/podgroup-1": owner("StatefulSet", "web", "apps/v1"),
        "else/podgroup-2": owner("Job", "web", "batch/v1"),
        "ml/web": None,
    }
    assert all_called(owners) == {
        "ml/web-77": "ml/web (Job, PodGroup web-77)",
        "ml/podgroup-0d3a": "ml/web (Job, PodGroup podgroup-0d3a)",
        "ml/podgroup-1": "ml/web (StatefulSet)",
        "else/podgroup-2": "else/web (Job)",
        "ml/web": "ml/web",
    }


def test_an_owner_is_written_as_explain_takes_it() -> None:
    assert as_argument(owner("ReplicaSet", "web-5d8f", "apps/v1")) == "ReplicaSet/web-5d8f"
    assert as_argument(None) == ""
