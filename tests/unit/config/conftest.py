"""A small catalogue: enough plugins and actions to write every shape of configuration that users have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Literal

import pytest
from pydantic import Field

from volcano_py.config import (
    Arguments,
    AtLeast,
    Catalogue,
    GoBool,
    NoArguments,
    ParseResult,
    PositiveDuration,
    ResourceNames,
    argument,
    parse_configuration,
)

Weight = Annotated[int, AtLeast(0, otherwise=1)]
Ratio = Annotated[float, AtLeast(0, otherwise=1)]


class BinpackArguments(Arguments):
    weight: Weight = argument("binpack.weight", 1, "Weight of the score.")
    cpu: Weight = argument("binpack.cpu", 1, "Weight of cpu.")
    memory: Weight = argument("binpack.memory", 1, "Weight of memory.")
    resources: ResourceNames = argument("binpack.resources", (), "Other resources that count.")
    resource_weights: Mapping[str, Weight] = argument("binpack.resources.<name>", {}, "Weight of each of them.")


class OvercommitArguments(Arguments):
    factor: Annotated[float, AtLeast(1.0, otherwise=1.2)] = argument("overcommit-factor", 1.2, "Factor.")


class NodeOrderArguments(Arguments):
    least_requested: int = argument("leastrequested.weight", 1, "Spreading.")
    most_requested: int = argument("mostrequested.weight", 0, "Packing.")


class PredicatesArguments(Arguments):
    gpu_sharing: GoBool = argument("predicate.GPUSharingEnable", False, "Historical.")
    proportional: GoBool = argument("predicate.ProportionalEnable", False, "Keep cpu and memory beside devices.")
    resources: ResourceNames = argument("predicate.resources", (), "The devices.")
    cpu: Mapping[str, Ratio] = argument("predicate.resources.<name>.cpu", {}, "Cores to keep for each device.")
    memory: Mapping[str, Ratio] = argument("predicate.resources.<name>.memory", {}, "Gigabytes to keep.")


class StrategyArguments(Arguments):
    weight: int = argument("resourceStrategyFitWeight", 10, "Weight.")
    types: Mapping[str, Literal["MostAllocated", "LeastAllocated"]] = argument("resources.<name>.type", {}, "How.")
    weights: Mapping[str, Weight] = argument("resources.<name>.weight", {}, "Weight of each resource.")
    policy: str = argument("sra.policy", "", "retention or proportional.")
    scarce: ResourceNames = argument("sra.resources", (), "Scarce resources.")
    retention_weight: float = argument(("sra.retention.weight", "sra.weight"), 0.0, "Weight of retention.")
    retention: Mapping[str, Weight] = argument(
        ("sra.retention.<name>", "sra.resourceWeight.<name>"), {}, "Weight of each scarce resource."
    )
    cpu: Mapping[str, Ratio] = argument("sra.proportional.<name>.cpu", {}, "Cores kept for each device.")
    memory: Mapping[str, Ratio] = argument("sra.proportional.<name>.memory", {}, "Gigabytes kept for each device.")


class SlaArguments(Arguments):
    waiting: PositiveDuration | None = argument("sla-waiting-time", None, "Longest wait.")


class TdmArguments(Arguments):
    zones: Mapping[str, str] = argument("tdm.revocable-zone.<zone>", {}, "Hours in which each zone may be used.")
    period: PositiveDuration = argument("tdm.evict.period", timedelta(minutes=1), "Between evictions.")


class PreemptArguments(Arguments):
    topology_aware: GoBool = argument("enableTopologyAwarePreemption", False, "Dry runs on copies.")
    percentage: Annotated[int, Field(ge=0, le=100)] = argument("minCandidateNodesPercentage", 10, "Percent.")


class AllocateArguments(Arguments):
    predicate_cache: GoBool = argument("predicateErrorCacheEnable", True, "Remember nodes that refused.")


CATALOGUE = Catalogue(
    plugins={
        "priority": NoArguments,
        "gang": NoArguments,
        "conformance": NoArguments,
        "drf": NoArguments,
        "proportion": NoArguments,
        "capacity": NoArguments,
        "overcommit": OvercommitArguments,
        "predicates": PredicatesArguments,
        "nodeorder": NodeOrderArguments,
        "binpack": BinpackArguments,
        "resource-strategy-fit": StrategyArguments,
        "sla": SlaArguments,
        "tdm": TdmArguments,
    },
    actions={
        "enqueue": NoArguments,
        "allocate": AllocateArguments,
        "backfill": AllocateArguments,
        "preempt": PreemptArguments,
        "reclaim": AllocateArguments,
    },
    provides={
        "priority": frozenset({"task_order", "job_order", "preemptable", "job_starving"}),
        "gang": frozenset(
            {"job_valid", "preemptable", "reclaimable", "job_order", "job_ready", "job_pipelined", "job_starving"}
        ),
        "conformance": frozenset({"preemptable", "reclaimable"}),
        "drf": frozenset({"preemptable", "job_order", "queue_order", "reclaimable", "namespace_order"}),
        "proportion": frozenset({"queue_order", "reclaimable", "overused", "allocatable", "preemptive"}),
        "capacity": frozenset({"queue_order", "reclaimable", "allocatable", "preemptive"}),
        "overcommit": frozenset({"job_enqueueable", "job_enqueued", "on_deallocate"}),
        "predicates": frozenset({"pre_predicate", "predicate", "simulate_add_task"}),
        "nodeorder": frozenset({"node_order"}),
        "binpack": frozenset({"node_order"}),
        "resource-strategy-fit": frozenset({"node_order", "predicate"}),
        "sla": frozenset({"job_order", "job_enqueueable", "job_pipelined"}),
        "tdm": frozenset({"predicate", "preemptable", "victim_tasks", "job_starving"}),
    },
)


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return CATALOGUE


@pytest.fixture(scope="session")
def parse() -> Callable[..., ParseResult]:
    """`parse(text)` with the small catalogue."""

    def with_catalogue(text: str, *, strict: bool = False) -> ParseResult:
        return parse_configuration(text, CATALOGUE, strict=strict)

    return with_catalogue


@pytest.fixture(scope="session")
def parse_plugin(parse: Callable[..., ParseResult]) -> Callable[..., ParseResult]:
    """A configuration around the arguments of one plugin, given as lines of YAML."""

    def with_arguments(name: str, arguments: str, *, strict: bool = False) -> ParseResult:
        lines = "".join(f"      {line}\n" for line in arguments.splitlines())
        start = 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n'
        return parse(f"{start}- plugins:\n  - name: {name}\n    arguments:\n{lines}", strict=strict)

    return with_arguments
