"""The arguments of predicates are Volcano's, with its defaults."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.config.fields.reading import read_arguments
from volcano_py.plugins.predicates.arguments import PredicatesArguments


def test_everything_is_looked_at_by_default() -> None:
    arguments = PredicatesArguments()
    assert arguments.node_affinity
    assert arguments.node_ports
    assert arguments.taints
    assert not arguments.cache


def test_every_switch_of_volcano_is_understood() -> None:
    names = [
        "NodeAffinityEnable",
        "NodePortsEnable",
        "TaintTolerationEnable",
        "PodAffinityEnable",
        "NodeVolumeLimitsEnable",
        "VolumeZoneEnable",
        "PodTopologySpreadEnable",
        "VolumeBindingEnable",
        "DynamicResourceAllocationEnable",
        "CacheEnable",
    ]
    arguments, problems = read_arguments(PredicatesArguments, {f"predicate.{name}": False for name in names})
    assert problems == ()
    assert arguments is not None
    assert not arguments.node_affinity
    assert not arguments.taints
    assert not arguments.node_ports


def test_the_arguments_of_what_is_not_evaluated_yet_are_read() -> None:
    arguments, problems = read_arguments(
        PredicatesArguments,
        {
            "volumebinding.bindTimeoutSeconds": 30,
            "dynamicresources.filterTimeoutSeconds": 5,
        },
    )
    assert arguments is not None
    assert arguments.volume_binding_seconds == 30
    assert problems == ()


def test_switching_on_something_without_effect_is_reported() -> None:
    arguments, problems = read_arguments(PredicatesArguments, {"predicate.GPUSharingEnable": "true"})
    assert arguments is not None
    reported = [problem.message for problem in problems]
    assert reported == ["has no effect here: sharing of GPUs belongs to the plugin deviceshare"]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"volumebinding.weight": 2}, id="weight"),
        pytest.param({"volumebinding": {"shape": [{"utilization": 0, "score": 0}]}}, id="shape"),
    ],
)
def test_nodes_are_not_scored_by_their_volumes_and_a_warning_says_why(given: dict[str, Any]) -> None:
    arguments, problems = read_arguments(PredicatesArguments, given)
    assert arguments is not None
    reported = [problem.message for problem in problems]
    expected = (
        "has no effect here: nodes are not scored by their volumes, as in kube-scheduler without its feature gate "
        "StorageCapacityScoring (alpha, off)"
    )
    assert reported == [expected]


def test_a_weight_of_0_for_volumes_says_what_is_so() -> None:
    assert read_arguments(PredicatesArguments, {"volumebinding.weight": 0})[1] == ()


@pytest.mark.parametrize("seconds", [-1, 0, 2**31, pytest.param(10**400, id="a number of 400 digits")])
def test_the_time_for_volumes_is_one_that_can_be_waited_for(seconds: int) -> None:
    arguments, problems = read_arguments(PredicatesArguments, {"volumebinding.bindTimeoutSeconds": seconds})
    assert arguments is None
    [problem] = problems
    assert problem.path.endswith("volumebinding.bindTimeoutSeconds")
    assert "must be" in problem.message
