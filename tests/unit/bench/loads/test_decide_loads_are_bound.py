"""Every load of decide mode is what it says, and all its pods find places."""

from __future__ import annotations

from collections import Counter

import pytest
from click.testing import CliRunner

from tests.support.registries import checked_registry
from volcano_py.api.objects import Node, Pod
from volcano_py.bench.decide import run_decide
from volcano_py.bench.figures import Run
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.decide_loads import CLASSES, DECIDE_LOADS, NODE_SIZES, POD_SIZES
from volcano_py.bench.loads.preemption_load import preemption_cases
from volcano_py.bench.loads.queue_loads import tree_cases
from volcano_py.bench.loads.reclaim_load import reclaim_cases
from volcano_py.bench.loads.workload import Workload
from volcano_py.cli.main import main
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.state.cluster_state import ClusterState

SMALL = Workload(nodes=40, pods=60, gang=20)


def run_of(case: Case) -> Run:
    registry = checked_registry()
    configuration = parse_configuration(case.configuration or default_configuration_text(), registry.catalogue())
    assert configuration.config is not None
    assert not configuration.problems
    return run_decide(case.items(), configuration.config, registry, name=case.name)


@pytest.mark.parametrize("name", [name for name, load in DECIDE_LOADS.items() if not load.has_own_size])
def test_all_pods_of_a_load_are_bound(name: str) -> None:
    roomy = Workload(nodes=60, pods=SMALL.pods, gang=SMALL.gang)  # (fewer have not enough GPUs of each model)
    assert run_of(DECIDE_LOADS[name].cases(roomy)[0]).pods == SMALL.pods


@pytest.mark.parametrize("case", tree_cases(pods=300, nodes=20), ids=lambda case: case.name)
def test_all_pods_of_a_thousand_queues_are_bound(case: Case) -> None:
    assert run_of(case).pods == 300


@pytest.mark.parametrize("case", preemption_cases(nodes=20, waiting=10, large=20), ids=lambda case: case.name)
def test_the_more_important_get_places_and_no_others_do(case: Case) -> None:
    run = run_of(case)
    assert (run.pods, run.notes) == (0, evictions(case))


@pytest.mark.parametrize("case", reclaim_cases(nodes=20, waiting=10, large=20), ids=lambda case: case.name)
def test_a_queue_that_is_owed_something_gets_it_and_no_other_does(case: Case) -> None:
    assert run_of(case).notes == evictions(case)


def evictions(case: Case) -> dict[str, int]:
    """Ten pods take the places of two each. Gangs of 8 go in pairs that are on the same nodes: two pairs. By proportion
    the holder deserves all that the claimant does not ask for, and gives three gangs."""
    if case.name == "equal priority" or ": nothing to " in case.name:
        return {}
    if "gangs" not in case.name:
        return {"evictions": 20}
    return {"evictions": 24 if case.name.startswith("proportion") else 32}


def test_there_are_as_many_classes_as_said_and_none_twice_in_a_gang() -> None:
    workload = Workload(nodes=1, pods=2 * CLASSES, gang=100)
    state = ClusterState()
    for kind, obj in DECIDE_LOADS["classes"].cases(workload)[0].items():
        state.upsert(kind, obj)
    classes = state.snapshot(0.0).classes
    assert sum(each is not None for each in classes) == CLASSES


def test_the_strategy_load_has_nodes_and_pods_with_and_without_gpus() -> None:
    gpus: Counter[tuple[str, bool]] = Counter()
    for kind, obj in DECIDE_LOADS["strategy"].cases(SMALL)[0].items():
        if isinstance(obj, Node):
            gpus[kind, "nvidia.com/gpu" in obj.status.allocatable] += 1
        if isinstance(obj, Pod):
            gpus[kind, "nvidia.com/gpu" in obj.spec.containers[0].resources.requests] += 1
    assert gpus == {("Node", True): 20, ("Node", False): 20, ("Pod", True): 15, ("Pod", False): 45}


def test_sizes_are_runs_of_their_own() -> None:
    names = [case.name for case in DECIDE_LOADS["sizes"].cases(SMALL)]
    assert names[: len(NODE_SIZES)] == [f"{nodes} × {SMALL.pods}" for nodes in NODE_SIZES]
    assert names[len(NODE_SIZES) :] == [f"{SMALL.nodes} × {pods}" for pods in POD_SIZES]


def test_the_command_measures_a_load_and_knows_which_mode_has_it() -> None:
    sizes = ["--nodes=20", "--pods=30", "--gang=10"]
    measured = CliRunner().invoke(main, ["bench", "--mode=decide", "--load=classes", *sizes])
    assert measured.exit_code == 0, measured.output
    assert "pods of 500 classes: 20 nodes, 30 pods in gangs of 10" in measured.output
    refused = CliRunner().invoke(main, ["bench", "--mode=decide", "--load=arrival", *sizes])
    assert refused.exit_code == 2
    assert "--mode decide has no load arrival; see --help for its loads" in refused.output


@pytest.mark.parametrize("rate", ["0", "-1"])
def test_pods_that_never_come_cannot_be_measured(rate: str) -> None:
    refused = CliRunner().invoke(main, ["bench", "--mode=decide", "--rate", rate, "--nodes=1", "--pods=1", "--gang=1"])
    assert refused.exit_code == 2
    assert f"{float(rate)} is not in the range x>0" in refused.output
