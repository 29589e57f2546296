"""`spec.capability.cpu=20`: the API's names, keys with dots, numbers of list elements, and errors that name what is
there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.sessions import node, pod, pod_group, queue
from volcano_py.api.objects import ApiObject, PriorityClass
from volcano_py.what_if.fields import FieldError, with_field

QUEUE = queue("q", weight=2, capability={"cpu": "4", "nvidia.com/gpu": "1"}, parent="root")


@pytest.mark.parametrize(
    ("obj", "path", "text", "found"),
    [
        (QUEUE, "spec.weight", "3", {"weight": 3}),
        (QUEUE, "spec.capability.cpu", "20", {"capability": {"cpu": "20", "nvidia.com/gpu": "1"}}),
        (QUEUE, "spec.capability.nvidia.com/gpu", "8", {"capability": {"cpu": "4", "nvidia.com/gpu": "8"}}),
        (QUEUE, "spec.capability.memory", "1Gi", {"capability": {"cpu": "4", "nvidia.com/gpu": "1", "memory": "1Gi"}}),
        (QUEUE, "spec.capability.cpu", "null", {"capability": {"nvidia.com/gpu": "1"}}),
        (QUEUE, "spec.capability", "null", {"capability": None}),
        (QUEUE, "spec.capability", '{"cpu": "1"}', {"capability": {"cpu": "1"}}),
        (QUEUE, "spec.guarantee.resource.cpu", "2", {"guarantee": {"resource": {"cpu": "2"}}}),
        (QUEUE, "spec.reclaimable", "false", {"reclaimable": False}),
        (QUEUE, "spec.parent", "null", {"parent": None}),
        (
            QUEUE,
            "spec.affinity.nodeGroupAffinity.required",
            '["a"]',
            {"affinity": {"nodeGroupAffinity": {"required": ["a"]}}},
        ),
        (pod_group("g"), "spec.minResources.cpu", "3", {"minResources": {"cpu": "3"}}),
        (node("n"), "spec.unschedulable", "true", {"unschedulable": True}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_field_has_the_value_and_all_others_stay(
    obj: ApiObject, path: str, text: str, found: dict[str, Any]
) -> None:
    changed = msgspec.to_builtins(with_field(obj, path, text))
    expected = msgspec.to_builtins(obj)
    (field,) = found
    expected["spec"] |= found
    if found[field] is None:
        del expected["spec"][field]

    assert changed == expected


def test_an_element_of_a_list_is_named_by_its_number() -> None:
    changed = with_field(pod("p", cpu="1"), "spec.containers.0.resources.requests.cpu", "2")

    assert changed.spec.containers[0].resources.requests["cpu"] == "2"


def test_what_is_optional_and_absent_is_made() -> None:
    changed = with_field(pod("p"), "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", "[]")

    assert changed.spec.affinity is not None
    assert changed.spec.affinity.pod_affinity is not None


def test_a_field_outside_the_spec_is_set_too() -> None:
    assert with_field(PriorityClass(metadata=QUEUE.metadata), "value", "7").value == 7


@pytest.mark.parametrize(
    ("obj", "path", "text", "message"),
    [
        (QUEUE, "spec.weigh", "1", "spec has no field weigh that decisions follow from; it has weight, capability, "),
        (QUEUE, "spec.weight", "much", "spec.weight cannot be much: Expected `int`"),
        (QUEUE, "spec.weight.more", "1", "spec.weight has no fields: leave out .more"),
        (QUEUE, "metadata", "null", "metadata is required: give it a value instead of null"),
        (
            pod("p"),
            "spec.containers.7.name",
            "x",
            "spec.containers is a list: write the number of an element (0 to ",
        ),
        (pod("p"), "spec.tolerations.x.key", "x", "spec.tolerations is a list: write the number of an element (none) "),
        (QUEUE, "spec.capability", "[1", "spec.capability cannot be [1: Input data was truncated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_set_is_named_with_what_can(obj: ApiObject, path: str, text: str, message: str) -> None:
    with pytest.raises(FieldError) as refused:
        with_field(obj, path, text)

    assert str(refused.value).startswith(message)
