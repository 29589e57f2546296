"""Configurations in the shapes that people have: blanks after commas, quoted numbers, flat and nested keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import BaseModel

from volcano_py.config import Code, ParseResult, SchedulerConfiguration, default_configuration_text

Parse = Callable[..., ParseResult]


def loaded(result: ParseResult) -> SchedulerConfiguration:
    assert result.errors == ()
    assert result.config is not None
    return result.config


def arguments_of(result: ParseResult, name: str) -> BaseModel:
    return next(entry.arguments for entry in loaded(result).plugins() if entry.name == name)


def test_the_default_configuration_is_that_of_volcano_and_has_no_problems(parse: Parse) -> None:
    result = parse(default_configuration_text())
    config = loaded(result)
    assert result.problems == ()
    assert config.actions == ("enqueue", "allocate", "backfill")
    assert [[entry.name for entry in tier.plugins] for tier in config.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder"],
    ]
    assert all(not entry.flags.model_fields_set for entry in config.plugins())


def test_the_configuration_that_helm_ships_has_no_problems(parse: Parse) -> None:
    result = parse(
        """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
    )
    assert result.problems == ()
    entries = {entry.name: entry for entry in loaded(result).plugins()}
    assert not entries["drf"].flags.preemptable
    assert entries["drf"].flags.job_order
    assert (entries["binpack"].tier, entries["binpack"].index) == (1, 5)
    assert entries["binpack"].path == "tiers[1].plugins[5]"


def test_hierarchical_queues_without_enqueue(parse: Parse) -> None:
    result = parse(
        """
actions: "allocate, preempt, reclaim"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: capacity # owns the queues
    enableHierarchy: true # as a tree
  - name: nodeorder
"""
    )
    assert result.problems == ()
    capacity = next(entry for entry in loaded(result).plugins() if entry.name == "capacity")
    assert capacity.flags.hierarchy


def test_resources_of_a_family_with_dots_and_slashes_in_their_names(parse_plugin: Parse) -> None:
    result = parse_plugin(
        "binpack",
        "binpack.weight: 10\n"
        "binpack.memory: 2\n"
        "binpack.resources: nvidia.com/gpu, example.com/foo ,example.com/bar\n"
        "binpack.resources.nvidia.com/gpu: 2\n"
        "binpack.resources.example.com/foo: 3\n",
    )
    assert result.problems == ()
    assert arguments_of(result, "binpack").model_dump() == {
        "weight": 10,
        "cpu": 1,
        "memory": 2,
        "resources": ("nvidia.com/gpu", "example.com/foo", "example.com/bar"),
        "resource_weights": {"nvidia.com/gpu": 2, "example.com/foo": 3},
    }


def test_families_with_an_end_of_their_own(parse_plugin: Parse) -> None:
    result = parse_plugin(
        "predicates",
        "predicate.ProportionalEnable: true\n"
        "predicate.resources: nvidia.com/gpu,nvidia.com/a100-80gb\n"
        "predicate.resources.nvidia.com/gpu.cpu: 8\n"
        "predicate.resources.nvidia.com/gpu.memory: 8\n"
        "predicate.resources.nvidia.com/a100-80gb.cpu: 16.5\n",
    )
    arguments = next(entry for entry in loaded(result).plugins() if entry.tier == 1).arguments.model_dump()
    assert arguments["proportional"] is True
    assert arguments["resources"] == ("nvidia.com/gpu", "nvidia.com/a100-80gb")
    assert arguments["cpu"] == {"nvidia.com/gpu": 8.0, "nvidia.com/a100-80gb": 16.5}
    assert arguments["memory"] == {"nvidia.com/gpu": 8.0}


FLAT = """\
resourceStrategyFitWeight: 10
resources.nvidia.com/gpu.type: MostAllocated
resources.nvidia.com/gpu.weight: 2
sra.policy: retention
sra.resources: nvidia.com/t4, nvidia.com/a10
sra.retention.weight: 2
sra.retention.nvidia.com/t4: 1
sra.retention.nvidia.com/a10: 3
sra.proportional.nvidia.com/t4.cpu: 8
"""
NESTED = """\
resourceStrategyFitWeight: 10
resources:
  nvidia.com/gpu:
    type: MostAllocated
    weight: 2
sra:
  policy: retention
  resources: nvidia.com/t4, nvidia.com/a10
  retention:
    weight: 2
    nvidia.com/t4: 1
    nvidia.com/a10: 3
  proportional:
    nvidia.com/t4.cpu: 8
"""
MIXED = """\
resourceStrategyFitWeight: 10
resources.nvidia.com/gpu: {type: MostAllocated, weight: 2}
sra.policy: retention
sra:
  resources: [nvidia.com/t4, nvidia.com/a10]
  retention.weight: 2
  resourceWeight: {nvidia.com/t4: 1}
  retention.nvidia.com/a10: 3
  proportional.nvidia.com/t4: {cpu: 8}
"""


@pytest.mark.parametrize("text", [FLAT, NESTED, MIXED], ids=["flat", "nested", "mixed"])
def test_dotted_keys_may_be_written_flat_nested_or_mixed(parse_plugin: Parse, text: str) -> None:
    result = parse_plugin("resource-strategy-fit", text)
    assert result.problems == ()
    assert arguments_of(result, "resource-strategy-fit").model_dump(exclude_defaults=True) == {
        "types": {"nvidia.com/gpu": "MostAllocated"},
        "weights": {"nvidia.com/gpu": 2},
        "policy": "retention",
        "scarce": ("nvidia.com/t4", "nvidia.com/a10"),
        "retention_weight": 2.0,
        "retention": {"nvidia.com/t4": 1, "nvidia.com/a10": 3},
        "cpu": {"nvidia.com/t4": 8.0},
    }


def test_flat_and_nested_spellings_mean_the_same_configuration(parse_plugin: Parse) -> None:
    digests = {loaded(parse_plugin("resource-strategy-fit", text)).digest for text in (FLAT, NESTED, MIXED)}
    assert len(digests) == 1


def test_quoted_numbers_load_with_a_warning(parse_plugin: Parse) -> None:
    result = parse_plugin("binpack", 'binpack.weight: "10"\nbinpack.resources.nvidia.com/gpu: "2"')
    assert arguments_of(result, "binpack").model_dump(exclude_defaults=True) == {
        "weight": 10,
        "resource_weights": {"nvidia.com/gpu": 2},
    }
    assert [problem.code for problem in result.warnings] == [Code.COERCED, Code.COERCED]


def test_an_anchor_can_be_used_again_and_merged(parse: Parse) -> None:
    result = parse(
        """
actions: enqueue, allocate
tiers:
- plugins:
  - &quiet
    name: gang
    enablePreemptable: no
  - <<: *quiet
    name: drf
  - name: predicates
"""
    )
    gang, drf, _ = loaded(result).plugins()
    assert (gang.name, gang.flags.preemptable) == ("gang", False)
    assert (drf.name, drf.flags.preemptable) == ("drf", False)


def test_words_for_true_and_false_are_those_of_yaml_1_1(parse: Parse) -> None:
    lines = "".join(f"  - {{name: gang, enableJobOrder: {word}}}\n" for word in ("off", "No", "n", "FALSE", "on", "Y"))
    result = parse(f"actions: allocate\ntiers:\n- plugins:\n{lines}")
    assert [entry.flags.job_order for entry in loaded(result).plugins()] == [False, False, False, False, True, True]
    assert {problem.code for problem in result.problems} <= {Code.REPEATED, Code.CONTRADICTION}


def test_hours_stay_text_although_yaml_1_1_has_base_60_numbers(parse_plugin: Parse) -> None:
    result = parse_plugin("tdm", "tdm.revocable-zone.rz1: 10:00-21:00\ntdm.revocable-zone.rz2: 12:30")
    arguments = arguments_of(result, "tdm")
    assert arguments.model_dump()["zones"] == {"rz1": "10:00-21:00", "rz2": "12:30"}
    assert result.problems == ()


def test_arguments_of_actions_are_there_for_every_configured_action(parse: Parse) -> None:
    config = loaded(
        parse(
            """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
configurations:
- name: preempt
  arguments:
    enableTopologyAwarePreemption: "true"
    minCandidateNodesPercentage: 25
"""
        )
    )
    assert set(config.configurations) == {"enqueue", "allocate", "preempt"}
    assert config.configurations["preempt"].model_dump() == {"topology_aware": True, "percentage": 25}
    assert config.configurations["allocate"].model_dump() == {"predicate_cache": True}


def test_metrics_are_kept_as_text_and_out_of_the_repr(parse: Parse) -> None:
    config = loaded(
        parse(
            default_configuration_text()
            + "metrics:\n  type: elasticsearch\n  address: http://es:9200\n  interval: 30s\n"
            + "  elasticsearch.password: 0123\n"
        )
    )
    assert config.metrics["elasticsearch.password"] == "0123"
    assert "0123" not in repr(config)


def test_a_configuration_can_be_a_dictionary_key(parse: Parse) -> None:
    first, second = loaded(parse(default_configuration_text())), loaded(parse(default_configuration_text()))
    assert first == second
    assert {first: "seen"}[second] == "seen"
