"""Without nodes or queues nothing can be decided again, so the conditions that the scheduler has written count."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.unit.explain.causes import world_of
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.explain.model import WorkloadExplanation
from volcano_py.explain.of_workload import explain_workload

PODS = 2
OF_GANG = "OverCapability: 2/2 tasks in gang unschedulable: queue q: 4 cpu allocated + 2 asked > 4 capability"
OF_POD = "NodesRefuse: 0/3 nodes are unavailable: 3 Insufficient cpu."
OF_VOLCANO = "2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable"


def condition(kind: str, status: str, message: str) -> list[dict[str, str]]:
    return [{"type": kind, "status": status, "reason": "NotEnoughResources", "message": message}] if message else []


def explained(*, of_gang: str = "", of_pods: str = "", phase: str = "Inqueue", placed: int = 0) -> WorkloadExplanation:
    """Of a gang of two pods: what its conditions and those of its pods say, and how many of the pods have a node."""
    work: list[dict[str, Any]] = [
        {
            "kind": "PodGroup",
            "metadata": {"name": "train"},
            "spec": {"minMember": 1 if placed == 1 else PODS, "queue": "q"},
            "status": {"phase": phase, "conditions": condition("Unschedulable", "True", of_gang)},
        }
    ]
    for number in range(PODS):
        runs = number < placed
        status = {"phase": "Running" if runs else "Pending"}
        work.append(
            {
                "kind": "Pod",
                "metadata": {"name": f"train-{number}", "annotations": {"scheduling.k8s.io/group-name": "train"}},
                "spec": {"schedulerName": "volcano", "containers": [{}], **({"nodeName": "n1"} if runs else {})},
                "status": {**status, "conditions": [] if runs else condition("PodScheduled", "False", of_pods)},
            }
        )
    world = world_of(yaml.safe_dump_all(work))
    return explain_workload(world, "podgroup", "default/train", decides=False)


@pytest.mark.parametrize(
    ("messages", "reason", "message"),
    [
        ({"of_gang": OF_GANG, "of_pods": OF_POD}, "OverCapability", OF_GANG.removeprefix("OverCapability: ")),
        ({"of_pods": OF_POD}, "NodesRefuse", OF_POD.removeprefix("NodesRefuse: ")),
        ({"of_gang": OF_VOLCANO}, "NotEnoughResources", OF_VOLCANO),
        ({}, "NotYetEvaluated", "the scheduler has written no reason yet"),
    ],
    ids=["of the PodGroup", "of its pods", "of Volcano's scheduler", "none"],
)
def test_the_reason_is_that_of_the_conditions(messages: dict[str, Any], reason: str, message: str) -> None:
    found = explained(**messages)
    assert (found.now.state, found.now.reason, found.now.message) == ("Waiting", reason, message)
    assert (found.limits, found.remedies, found.nodes, found.position, found.forecast) == ((), (), None, None, None)
    assert "What would help" not in list(drawn(found))


def test_what_runs_waits_for_nothing_whatever_an_old_condition_says() -> None:
    now = explained(of_gang=OF_GANG, phase="Running", placed=2).now
    assert (now.state, now.reason, dict(now.nodes)) == ("Running", "", {"n1": 2})


def test_a_pod_beyond_the_minimum_waits_for_what_its_own_condition_says() -> None:
    now = explained(of_gang=OF_GANG, of_pods=OF_POD, phase="Running", placed=1).now
    assert (now.state, now.running, now.wanted, now.reason) == ("Partly running", 1, 2, "NodesRefuse")
