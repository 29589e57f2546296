"""Kubernetes' disruption controller, played: how many pods budgets allow to go in a cluster in memory."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.registries import checked_registry
from volcano_py.api.workloads import PodDisruptionBudget
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation, SimulationResult

CONFIGURATION = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: pdb}]
- plugins: [{name: predicates}]
"""
WEB = {"app": "web"}
SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "web", "controller": True}
READY = {"type": "Ready", "status": "True"}
UNREADY = {"type": "Ready", "status": "False"}

Object = dict[str, Any]


def budget(status: Object | None = None, **spec: Any) -> Object:
    selector = {"matchLabels": WEB}
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": selector, **spec},
        "status": status or {},
    }


def web(number: int, *, owner: Object | None = None, on: str = "n1", condition: Object | None = None) -> Object:
    return {
        "kind": "Pod",
        "metadata": {"name": f"web-{number}", "labels": WEB, "ownerReferences": [owner] if owner else []},
        "spec": {"nodeName": on, "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "conditions": [condition]} if condition else {},
    }


def ours(pod: Object) -> Object:
    pod["spec"]["schedulerName"] = "volcano"
    return pod


def urgent(count: int) -> list[Object]:
    return [
        {
            "kind": "Pod",
            "metadata": {"name": f"urgent-{number}"},
            "spec": {**web(number)["spec"], "nodeName": "", "schedulerName": "volcano", "priorityClassName": "urgent"},
        }
        for number in range(count)
    ]


def simulation(*objects: Object, cpus: int = 3) -> Simulation:
    node: Object = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": cpus, "pods": 110}}}
    urgency: Object = {"kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000}
    items = stored(Document("test", number, body) for number, body in enumerate((node, urgency, *objects)))
    registry = checked_registry()
    configuration = parse_configuration(CONFIGURATION, registry.catalogue()).config
    assert configuration is not None
    return Simulation(items, configuration, registry)


def run(*objects: Object, cpus: int = 3) -> SimulationResult:
    return simulation(*objects, cpus=cpus).run()


def allowed(*objects: Object) -> int:
    """What the budget allows after a cycle in which no pod wants room."""
    simulated = simulation(*objects, cpus=100)
    simulated.step()
    (found,) = simulated.cluster.objects("PodDisruptionBudget", PodDisruptionBudget)
    return found.status.disruptions_allowed


def test_a_budget_whose_manifest_has_no_status_gives_up_what_is_beyond_its_minimum() -> None:
    pods = [ours(web(number)) for number in range(3)]
    result = run(budget(minAvailable=1), *pods, *urgent(3))
    assert len(result.evictions) == 2
    assert len(result.binds) == 2


def test_a_budget_is_not_spent_again_in_each_cycle() -> None:
    pods = [ours(web(number)) for number in range(3)]
    result = run(budget({"disruptionsAllowed": 1}, minAvailable=2), *pods, *urgent(3))
    assert len(result.evictions) == 1


@pytest.mark.parametrize(
    ("spec", "pods", "expected"),
    [
        pytest.param({"minAvailable": 2}, [web(n) for n in range(3)], 1, id="a minimum of pods"),
        pytest.param({"minAvailable": 4}, [web(n) for n in range(3)], 0, id="a minimum that is not met"),
        pytest.param({"minAvailable": 0}, [], 0, id="no pods"),
        pytest.param({}, [web(n) for n in range(3)], 0, id="neither"),
        pytest.param({"maxUnavailable": 1}, [web(n, owner=SET) for n in range(3)], 1, id="a maximum"),
        pytest.param({"maxUnavailable": "50%"}, [web(n, owner=SET) for n in range(3)], 2, id="a share, rounded up"),
        pytest.param({"minAvailable": "50%"}, [web(n, owner=SET) for n in range(3)], 1, id="a share as minimum"),
        pytest.param({"minAvailable": "half"}, [web(n, owner=SET) for n in range(3)], 0, id="no share"),
        pytest.param({"maxUnavailable": 1}, [web(n) for n in range(3)], 0, id="a maximum, of pods alone"),
        pytest.param({"maxUnavailable": 1}, [web(n, owner={**SET, "kind": "Job"}) for n in range(3)], 0, id="of a Job"),
        pytest.param({"minAvailable": 2}, [web(0), web(1), web(2, condition=UNREADY)], 0, id="one is not ready"),
        pytest.param({"minAvailable": 2}, [web(0), web(1), web(2, condition=READY)], 1, id="one says that it is"),
        pytest.param({"minAvailable": 1}, [web(0), web(1), ours(web(2, on=""))], 2, id="one is bound in the run"),
    ],
)
def test_what_is_allowed_is_counted_as_the_real_controller_does(
    spec: Object, pods: list[Object], expected: int
) -> None:
    assert allowed(budget(**spec), *pods) == expected


def test_pods_that_are_missing_count_where_their_owner_is_known() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": {"replicas": 4}}
    pods = [web(n, owner=SET) for n in range(3)]
    assert allowed(budget(maxUnavailable=1), owner, *pods) == 0
    assert allowed(budget(maxUnavailable=2), owner, *pods) == 1


def test_what_the_controller_of_the_real_cluster_has_counted_holds() -> None:
    pods = [web(n, owner=SET) for n in range(3)]
    assert allowed(budget({"disruptionsAllowed": 2, "desiredHealthy": 1}, maxUnavailable=1), *pods) == 2
    assert allowed(budget({"disruptionsAllowed": 0, "desiredHealthy": 3}, maxUnavailable=1), *pods) == 0


def test_a_pod_counted_as_disrupted_already_is_not_healthy() -> None:
    status = {"disruptedPods": {"web-2": "2026-01-01T00:00:00Z"}}
    assert allowed(budget(status, minAvailable=2), *[web(n) for n in range(3)]) == 0


def test_a_budget_is_of_its_namespace() -> None:
    elsewhere = yaml.safe_load(yaml.safe_dump(web(0)))
    elsewhere["metadata"]["namespace"] = "other"
    assert allowed(budget(minAvailable=1), elsewhere, web(0)) == 0
