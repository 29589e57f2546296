"""Names of resources that are misspelt, in Queues and in minResources of PodGroups."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.api.json_values import converted
from volcano_py.api.objects import PodGroup, Queue
from volcano_py.api.wording.resource_names import misnamed, misnamed_of_pod_group

DEVICE = "; the name of a device has a domain, such as nvidia.com/gpu"


def queue(**spec: Any) -> Queue:
    return converted({"metadata": {"name": "q"}, "spec": spec}, Queue)


def of_group(**amounts: str | int) -> list[str]:
    group = converted({"metadata": {"name": "g"}, "spec": {"minResources": amounts}}, PodGroup)
    return [each.message for each in misnamed_of_pod_group(group)]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("cpus", ' (did you mean "cpu"?)'),
        ("CPU", ' (did you mean "cpu"?)'),
        ("mem", ' (did you mean "memory"?)'),
        ("memroy", ' (did you mean "memory"?)'),
        ("ephemeral_storage", ' (did you mean "ephemeral-storage"?)'),
        ("hugepages", ' (did you mean "hugepages-2Mi"?)'),
        ("requests.cpu", ' (did you mean "cpu"?)'),
        ("limits.memory", ' (did you mean "memory"?)'),
        ("gpu", DEVICE),
        ("gpus", DEVICE),
        ("tpu-v5", DEVICE),
        ("x" * 300, DEVICE),
    ],
)
def test_a_misspelt_name_is_reported_with_what_was_meant(name: str, advice: str) -> None:
    (found,) = misnamed(queue(capability={name: 4, "cpu": 2}))
    shown = name if len(name) <= 60 else name[:59] + "…"
    assert found == f"spec.capability.{shown} (4) has no effect: no resource has this name{advice}"


@pytest.mark.parametrize(
    "name",
    [
        "cpu",
        "memory",
        "pods",
        "storage",
        "ephemeral-storage",
        "hugepages-1Gi",
        "attachable-volumes-csi-disk",
        "nvidia.com/gpu",
        "nowhere.example/yet",
        "requests.nvidia.com/gpu",
    ],
)
def test_names_that_may_be_right_are_not_reported(name: str) -> None:
    assert list(misnamed(queue(capability={name: 1}, deserved={name: 1}, guarantee={"resource": {name: 1}}))) == []
    assert of_group(**{name: 1}) == []


def test_every_amount_of_a_queue_is_looked_at_and_few_are_reported() -> None:
    found = [
        each.partition(" ")[0] for each in misnamed(queue(deserved={"cpus": 1}, guarantee={"resource": {"mem": 1}}))
    ]
    assert found == ["spec.deserved.cpus", "spec.guarantee.resource.mem"]
    assert len(list(misnamed(queue(capability={f"x{number}": 1 for number in range(50)})))) == 5


def test_devices_of_claims_are_limited_by_their_number_in_capability_only() -> None:
    amounts = {"deviceclass/gpu": 4, "memory.deviceclass/gpu": "80Gi", "my.deviceclass.example/gpu": 1}
    instead = "capacities of devices are not limited; limit their number, by deviceclass/gpu"
    only = "devices of ResourceClaims are limited by spec.capability only; remove it"
    found = list(misnamed(queue(capability=amounts, deserved=amounts, guarantee={"resource": {"deviceclass/x": 1}})))
    assert found == [
        f"spec.capability.memory.deviceclass/gpu (80Gi) has no effect: {instead}",
        f"spec.deserved.deviceclass/gpu (4) has no effect: {only}",
        f"spec.deserved.memory.deviceclass/gpu (80Gi) has no effect: {only}",
        f"spec.guarantee.resource.deviceclass/x (1) has no effect: {only}",
    ]


def test_min_resources_may_have_names_for_quotas() -> None:
    """As those of Volcano Jobs have."""
    assert of_group(**{"requests.cpu": "2", "limits.memory": "1Gi", "count/pods": "2"}) == []
    message = 'correct the name, which no resource has (did you mean "cpu"?); until then it counts as absent'
    assert of_group(**{"requests.cpus": "2", "cpus": "3"}) == [
        f"spec.minResources.requests.cpus is '2': {message}",
        f"spec.minResources.cpus is '3': {message}",
    ]
