"""The arguments of predicates are Volcano's, with its defaults."""

from __future__ import annotations

from volcano_py.config.reading import read_arguments
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
            "volumebinding.weight": 2,
            "volumebinding.bindTimeoutSeconds": 30,
            "volumebinding.shape": [{"utilization": 0, "score": 0}],
            "dynamicresources.filterTimeoutSeconds": 5,
        },
    )
    assert arguments is not None
    assert arguments.volume_binding_seconds == 30
    assert problems == ()


def test_whoever_switches_on_what_does_nothing_is_told() -> None:
    arguments, problems = read_arguments(PredicatesArguments, {"predicate.GPUSharingEnable": "true"})
    assert arguments is not None
    told = [problem.message for problem in problems]
    assert told == ["has no effect here: sharing of GPUs belongs to the plugin deviceshare"]
