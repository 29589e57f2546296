"""examples/sample, simulated: what newcomers see first must be true."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from volcano_py.cli.main import main
from volcano_py.shipped import shipped

SAMPLE = shipped("examples") / "sample"

Outcome = dict[str, Any]


def simulated(*arguments: str) -> Outcome:
    result = CliRunner().invoke(main, ["simulate", "--filename", str(SAMPLE), "--output", "json", *arguments])
    assert result.exit_code == 0, result.output
    outcome: Outcome = json.loads(result.output)
    return outcome


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return simulated()


def test_the_gang_that_fits_is_bound_whole_to_nodes_with_gpus(outcome: Outcome) -> None:
    nodes = {pod: node for pod, node in outcome["binds"].items() if pod.startswith("default/train-")}
    assert len(nodes) == 4
    assert set(nodes.values()) <= {"gpu-1", "gpu-2"}
    assert outcome["podGroups"]["default/train"]["phase"] == "Running"


def test_the_gang_that_does_not_fit_waits_whole_and_says_why(outcome: Outcome) -> None:
    assert not [pod for pod in outcome["binds"] if pod.startswith("default/too-large-")]
    group = outcome["podGroups"]["default/too-large"]
    (condition,) = (each for each in group["conditions"] if each["type"] == "Unschedulable")
    assert group["phase"] == "Inqueue"
    assert condition["message"].startswith("NodesRefuse: ")
    assert "2 Insufficient cpu" in condition["message"]
    assert "2 node(s) didn't match Pod's node affinity/selector" in condition["message"]
    waiting = {pod for pod in outcome["unschedulable"] if pod.startswith("default/too-large-")}
    assert len(waiting) == 3


def test_two_of_its_three_pods_would_have_a_place(outcome: Outcome) -> None:
    reported = [message for pod, message in outcome["unschedulable"].items() if pod.startswith("default/too-large-")]
    assert sum("2 of 3 pods have a place" in message for message in reported) == 2


def test_more_nodes_do_not_change_that_unless_they_are_of_the_pool(outcome: Outcome) -> None:
    """So the picture stays the same for who adds `--nodes`."""
    more = "kind: Node\nmetadata: {name: more}\nstatus: {allocatable: {cpu: 32, memory: 256Gi, pods: 110}}\n"
    result = CliRunner().invoke(main, ["simulate", "-f", str(SAMPLE), "-f", "-", "--output", "json"], input=more)
    assert outcome["unschedulable"].keys() == json.loads(result.output)["unschedulable"].keys()


def test_the_pod_alone_runs_in_the_default_queue(outcome: Outcome) -> None:
    assert "default/hello" in outcome["binds"]
    assert outcome["queues"]["default"]["allocated"]["cpu"] == "500m"


def test_the_deployment_is_ignored_because_no_controller_creates_its_pods(outcome: Outcome) -> None:
    assert not [pod for pod in outcome["binds"] if "web" in pod]


def test_each_team_holds_what_its_gang_holds(outcome: Outcome) -> None:
    assert outcome["queues"]["team-a"]["allocated"]["nvidia.com/gpu"] == "8"
    assert outcome["queues"]["team-b"]["allocated"] == {}
