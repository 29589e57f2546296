"""The arguments of deviceshare: what is not supported yet is refused, by its name."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.config.fields.reading import read_arguments
from volcano_py.config.text.problems import Severity
from volcano_py.plugins.deviceshare.arguments import DeviceShareArguments
from volcano_py.plugins.deviceshare.choice import Policy

VGPU = {"deviceshare.VGPUEnable": True}


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
        ("deviceshare.GPUSharingEnable", True),
        ("deviceshare.GPUNumberEnable", "true"),
        ("deviceshare.NodeLockEnable", True),
        ("deviceshare.AscendMindClusterVNPUEnable", True),
        ("deviceshare.AscendHAMiVNPUEnable", True),
        ("deviceshare.GPUExclusiveRules", [{"app": "train"}]),
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
    assert [message for _, _, message in problems_of({})] == [
        "deviceshare has no effect: write deviceshare.VGPUEnable: true"
    ]
