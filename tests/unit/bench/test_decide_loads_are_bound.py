"""Every load of decide mode is what it says, and all its pods find places."""

from __future__ import annotations

from collections import Counter

import pytest
from click.testing import CliRunner

from volcano_py.api.objects import Node, Pod
from volcano_py.bench.decide import run_decide
from volcano_py.bench.decide_loads import CLASSES, DECIDE_LOADS, SIZES
from volcano_py.bench.workload import Workload
from volcano_py.cli.main import main
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.scheduler import builtin_registry
from volcano_py.state.cluster_state import ClusterState

SMALL = Workload(nodes=40, pods=60, gang=20)


@pytest.mark.parametrize("name", DECIDE_LOADS)
def test_all_pods_of_a_load_are_bound(name: str) -> None:
    load, registry = DECIDE_LOADS[name], builtin_registry()
    text = load.configuration or default_configuration_text()
    configuration = parse_configuration(text, registry.catalogue())
    assert configuration.config is not None
    assert not configuration.problems
    run = run_decide(SMALL, configuration.config, registry, load.items(SMALL))
    assert run.pods == SMALL.pods


def test_there_are_as_many_classes_as_said_and_none_twice_in_a_gang() -> None:
    workload = Workload(nodes=1, pods=2 * CLASSES, gang=100)
    state = ClusterState()
    for kind, obj in DECIDE_LOADS["classes"].items(workload):
        state.upsert(kind, obj)
    classes = state.snapshot(0.0).classes
    assert sum(each is not None for each in classes) == CLASSES


def test_the_strategy_load_has_nodes_and_pods_with_and_without_gpus() -> None:
    gpus: Counter[tuple[str, bool]] = Counter()
    for kind, obj in DECIDE_LOADS["strategy"].items(SMALL):
        if isinstance(obj, Node):
            gpus[kind, "nvidia.com/gpu" in obj.status.allocatable] += 1
        if isinstance(obj, Pod):
            gpus[kind, "nvidia.com/gpu" in obj.spec.containers[0].resources.requests] += 1
    assert gpus == {("Node", True): 20, ("Node", False): 20, ("Pod", True): 15, ("Pod", False): 45}


def test_sizes_are_runs_of_their_own() -> None:
    assert [workload.nodes for workload in DECIDE_LOADS["sizes"].workloads(SMALL)] == list(SIZES)
    assert DECIDE_LOADS["backlog"].workloads(SMALL) == [SMALL]


def test_the_command_measures_a_load_and_knows_which_mode_has_it() -> None:
    sizes = ["--nodes=20", "--pods=30", "--gang=10"]
    measured = CliRunner().invoke(main, ["bench", "--mode=decide", "--load=classes", *sizes])
    assert measured.exit_code == 0, measured.output
    assert "pods of 500 classes: 20 nodes, 30 pods in gangs of 10" in measured.output
    refused = CliRunner().invoke(main, ["bench", "--mode=decide", "--load=arrival", *sizes])
    assert refused.exit_code == 2
    assert "--mode decide has no load arrival; see --help for its loads" in refused.output
