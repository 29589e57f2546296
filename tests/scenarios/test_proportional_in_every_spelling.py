"""The scenarios of folder proportional once more, with the rule written as resource-strategy-fit has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.scenario import Scenario, scenarios_below
from tests.support.registries import checked_registry
from volcano_py.api.objects import Pod
from volcano_py.cluster.manifests import read_text, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

FOLDER = Path(__file__).parent / "proportional"
WITH_THE_RULE = [scenario for scenario in scenarios_below(FOLDER) if "conf" in scenario.header]

Arguments = dict[str, Any]


def _parts(arguments: Arguments) -> dict[str, float]:
    """`<device>.cpu` and `<device>.memory` of the arguments of predicates."""
    start = "predicate.resources."
    return {key.removeprefix(start): value for key, value in arguments.items() if key.startswith(start)}


def flat(arguments: Arguments) -> Arguments:
    ratios = {f"sra.proportional.{part}": ratio for part, ratio in _parts(arguments).items()}
    return {"sra.policy": "proportional", "sra.resources": arguments["predicate.resources"], **ratios}


def nested(arguments: Arguments) -> Arguments:
    devices = arguments["predicate.resources"]
    return {"sra": {"policy": "proportional", "resources": devices, "proportional": _parts(arguments)}}


def todays(arguments: Arguments) -> Arguments:
    devices = arguments["predicate.resources"]
    return {"proportional": {"enable": True, "resources": devices, "resourceProportion": _parts(arguments)}}


def rewritten(scenario: Scenario, spelling: Any) -> Scenario:
    conf = yaml.safe_load(scenario.header["conf"])
    plugins = conf["tiers"][0]["plugins"]
    predicates = next(plugin for plugin in plugins if plugin["name"] == "predicates")
    plugins.append({"name": "resource-strategy-fit", "arguments": spelling(predicates.pop("arguments"))})
    return replace(scenario, header={**scenario.header, "conf": yaml.safe_dump(conf)})


@pytest.mark.parametrize("spelling", [flat, nested, todays], ids=lambda spelling: spelling.__name__)
@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.path.stem) for each in WITH_THE_RULE])
def test_the_outcome_is_that_of_predicates(scenario: Scenario, spelling: Any) -> None:
    rewritten(scenario, spelling).check()


def test_there_are_such_scenarios() -> None:
    assert len(WITH_THE_RULE) >= 4


def test_the_pod_that_waits_has_one_condition_unschedulable() -> None:
    """Autoscalers act on that word, and a node more would help."""
    header = next(each for each in WITH_THE_RULE if each.path.stem == "the_second_cpu_job_would_strand_gpus").header
    registry = checked_registry()
    configuration = parse_configuration(header["conf"], registry.catalogue()).config
    assert configuration is not None
    text = """
kind: Node
metadata: {name: nodeC0-0}
status: {allocatable: {cpu: 74, memory: 128G, pods: 110, nvidia.com/gpu: 8}}
---
kind: Pod
metadata: {name: first}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: 8, memory: 8G}}}]}
---
kind: Pod
metadata: {name: second}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: 8, memory: 8G}}}]}
"""
    simulation = Simulation(stored(read_text(text, "pods")), configuration, registry)
    assert list(simulation.run().binds) == ["default/first"]
    pods = {pod.metadata.name: pod for pod in simulation.cluster.objects("Pod", Pod)}
    assert [(c.type, c.status, c.reason) for c in pods["second"].status.conditions] == [
        ("PodScheduled", "False", "Unschedulable")
    ]
