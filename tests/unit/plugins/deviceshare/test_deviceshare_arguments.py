"""The arguments of deviceshare: what is not supported yet is refused, by its name."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.config.fields.reading import read_arguments
from volcano_py.config.text.problems import Severity
from volcano_py.plugins.deviceshare.arguments import DeviceShareArguments
from volcano_py.plugins.deviceshare.choice import Policy
from volcano_py.state.cards.asked import Sharing

VGPU = {"deviceshare.VGPUEnable": True}
KIND = {"name": "1g.5gb", "memory": 5120, "count": 7}


def problems_of(values: dict[str, Any]) -> list[tuple[Severity, str, str]]:
    _, problems = read_arguments(DeviceShareArguments, values)
    return [(each.severity, each.path, each.message) for each in problems]


def test_volcanos_own_example_is_read() -> None:
    values = {
        "deviceshare.VGPUEnable": "true",
        "deviceshare.SchedulePolicy": "binpack",
        "deviceshare.ScheduleWeight": "10",
    }
    arguments, _ = read_arguments(DeviceShareArguments, values)
    assert arguments is not None
    assert (arguments.vgpu, arguments.card_policy(), arguments.weight) == (True, Policy.BINPACK, 10)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("deviceshare.NodeLockEnable", True),
        ("deviceshare.AscendMindClusterVNPUEnable", True),
        ("deviceshare.AscendHAMiVNPUEnable", True),
        ("deviceshare.KnownGeometriesCMName", "mine"),
        ("deviceshare.KnownGeometriesCMNamespace", "mine"),
    ],
)
def test_what_is_not_supported_yet_is_refused_by_its_name(key: str, value: object) -> None:
    ((severity, path, message),) = problems_of({**VGPU, key: value})
    assert severity is Severity.ERROR
    assert path == key
    assert "is not supported yet" in message


@pytest.mark.parametrize(
    "values",
    [
        {"deviceshare.GPUSharingEnable": False, "deviceshare.NodeLockEnable": "false"},
        {"deviceshare.KnownGeometriesCMName": "volcano-vgpu-device-config"},
        {"deviceshare.KnownGeometriesCMNamespace": "kube-system", "deviceshare.GPUExclusiveRules": []},
    ],
)
def test_volcanos_defaults_may_be_written(values: dict[str, Any]) -> None:
    assert problems_of({**VGPU, **values}) == []


def test_what_has_no_effect_is_reported() -> None:
    assert [message for _, _, message in problems_of({**VGPU, "deviceshare.SchedulePolicy": "best"})] == [
        "has no effect: write binpack or spread"
    ]
    ((_, _, message),) = problems_of({})
    assert message == (
        "deviceshare has no effect: write one of deviceshare.VGPUEnable, deviceshare.GPUSharingEnable, "
        "deviceshare.GPUNumberEnable, with the value true"
    )


@pytest.mark.parametrize(
    ("key", "sharing"),
    [
        ("deviceshare.VGPUEnable", Sharing.VGPU),
        ("deviceshare.GPUSharingEnable", Sharing.GPU_MEMORY),
        ("deviceshare.GPUNumberEnable", Sharing.GPU_NUMBER),
    ],
)
def test_one_of_three_arguments_says_how_pods_share_gpus(key: str, sharing: Sharing) -> None:
    arguments, problems = read_arguments(DeviceShareArguments, {key: "true"})
    assert arguments is not None
    assert arguments.sharing() is sharing
    assert all(each.severity is not Severity.ERROR for each in problems)


def test_two_of_them_exclude_each_other() -> None:
    ((severity, _, message),) = problems_of({"deviceshare.GPUSharingEnable": True, **VGPU})
    assert severity is Severity.ERROR
    assert "deviceshare.VGPUEnable and deviceshare.GPUSharingEnable exclude each other: leave one of them" in message


def test_arguments_of_vgpus_alone_have_no_effect_where_gpus_have_numbers() -> None:
    geometries = [{"models": ["A"], "allowedGeometries": [{"group": "g", "geometries": [KIND]}]}]
    values = {"deviceshare.KnownMigGeometries": geometries, "deviceshare.GPUExclusiveRules": [{"app": "train"}]}
    assert problems_of({**VGPU, **values}) == []
    messages = [message for _, _, message in problems_of({"deviceshare.GPUSharingEnable": True, **values})]
    assert messages == [f"{key} has no effect without deviceshare.VGPUEnable: true; remove it" for key in values]
