"""PodGroups: defaults, the queue, numbers, and what may change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.queues.queue_worlds import queue, world
from volcano_py.admission.pod_groups import defaults, validate_create, validate_update
from volcano_py.api.names import QUEUE_NAME
from volcano_py.api.objects import ObjectMeta, PodGroup, PodGroupSpec

WORLD = world(queue("dept"), queue("team", "dept"), queue("shut", state="Closed"), queue("closing", state="Closing"))


def group(name: str = "default", **spec: Any) -> PodGroup:
    return PodGroup(metadata=ObjectMeta(name="work", namespace="ns"), spec=PodGroupSpec(queue=name, **spec))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (
            group("nowhere"),
            "spec.queue: nowhere does not exist; create it first, or name another queue",
        ),
        (
            group("root"),
            "spec.queue: root is the root queue, which runs no work; name a queue below it",
        ),
        (group("shut"), "spec.queue: shut is Closed and takes no new work; open it, or name another queue"),
        (group("closing"), "spec.queue: closing is Closing and takes no new work; open it, or name another queue"),
        (
            group("dept"),
            "spec.queue: dept has queues below it (team), and only leaf queues run work; name one of those",
        ),
        (group(min_member=-1), "spec.minMember: -1 is negative; write 0 or more"),
        (group(min_task_member={"ps": -2}), "spec.minTaskMember[ps]: -2 is negative; write 0 or more"),
        (
            group(network_topology={"highestTierAllowed": 2, "highestTierName": "rack"}),
            "spec.networkTopology.highestTierName: rack is set together with highestTierAllowed, 2; keep one of them",
        ),
        (
            group(sub_group_policy=[{}, {"networkTopology": {"highestTierAllowed": 0, "highestTierName": "rack"}}]),
            (
                "spec.subGroupPolicy[1].networkTopology.highestTierName: rack is set together with "
                "highestTierAllowed, 0; keep one of them"
            ),
        ),
    ],
)
def test_a_group_that_could_never_start_is_refused(new: PodGroup, expected: str) -> None:
    assert [str(each) for each in validate_create(new, WORLD, "default")] == [expected]


@pytest.mark.parametrize(
    "new", [group(""), group("team"), group(min_member=0), group(network_topology={"highestTierName": "rack"})]
)
def test_any_other_is_admitted(new: PodGroup) -> None:
    assert validate_create(new, WORLD, "default") == ()


def test_a_group_may_stay_in_a_queue_that_has_been_closed_but_not_go_to_one() -> None:
    assert validate_update(group("shut"), group("shut", min_member=3), WORLD, "default") == ()
    assert len(validate_update(group("team"), group("shut"), WORLD, "default")) == 1
    assert validate_update(group("shut"), group("team"), WORLD, "default") == ()


def test_the_namespace_names_the_queue_of_groups_that_name_none() -> None:
    namespace = {QUEUE_NAME: "team"}
    assert defaults(group("default"), namespace, "default") == {"spec": {"queue": "team"}}
    assert defaults(group(""), namespace, "default") == {"spec": {"queue": "team"}}
    assert defaults(group("other"), namespace, "default") == {}
    assert defaults(group("default"), {}, "default") == {}
    assert defaults(group(""), {}, "batch") == {"spec": {"queue": "batch"}}
