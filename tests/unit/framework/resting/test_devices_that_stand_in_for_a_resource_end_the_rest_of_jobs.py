"""Jobs for whose pods no node was large enough have another look when devices stand in for what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.devices import device_claim, device_class, request, resource_slice, with_claims
from tests.support.registries import checked_registry
from tests.support.sessions import node, pod, pod_group
from volcano_py.api.objects import ApiObject
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.framework.placement import barred
from volcano_py.framework.placement.fit import explain_barred
from volcano_py.simulation import Simulation

RESOURCE = "example.com/gpu"


class Cluster:
    """One node and a job of a pod; its scheduler remembers what it has found."""

    def __init__(self, resource: str = RESOURCE) -> None:
        registry = checked_registry()
        parsed = parse_configuration(default_configuration_text(), registry.catalogue())
        assert parsed.config is not None
        waiting = pod("p", group="g", cpu="1", devices={resource: "1"})
        objects: list[ApiObject] = [node("n1"), pod_group("g"), waiting]
        self._simulation = Simulation([(type(each).__name__, each) for each in objects], parsed.config, registry)
        self._simulation.run()

    def run_with(self, *objects: ApiObject) -> str:
        """Why the pod waits, "" if it does not."""
        for each in objects:
            self._simulation.cluster.put(type(each).__name__, each)
        return self._reported()

    def run_without(self, name: str) -> str:
        """The same after that pod is gone."""
        self._simulation.cluster.remove("Pod", f"team/{name}")
        return self._reported()

    def _reported(self) -> str:
        reported: dict[str, str] = self._simulation.run().as_json()["unschedulable"]
        return reported.get("team/p", "")


def test_a_job_is_looked_at_when_a_class_and_devices_come() -> None:
    cluster = Cluster()
    assert "no node offers example.com/gpu" in cluster.run_with(resource_slice("s", "d0", on="n1"))
    assert cluster.run_with(device_class(extended=RESOURCE)) == ""


def test_a_job_is_looked_at_when_devices_come_after_the_class() -> None:
    cluster = Cluster()
    assert "no node offers example.com/gpu" in cluster.run_with(device_class(extended=RESOURCE))
    assert "no node offers" in cluster.run_with(resource_slice("other", "d0", on="n1", driver="nic.example.com"))
    assert cluster.run_with(resource_slice("s", "d0", on="n1")) == ""


@pytest.mark.parametrize("resource", [RESOURCE, "deviceclass.resource.kubernetes.io/gpu"])
def test_a_job_waits_on_for_devices_that_a_claim_has(resource: str) -> None:
    cluster = Cluster(resource)
    other = with_claims(pod("other", group="h"), "own")
    cluster.run_with(device_class("its"), device_claim("own", request(of="its")), pod_group("h"), other)
    cluster.run_with(resource_slice("s", "d0", on="n1"))
    said = cluster.run_with(device_class(extended=RESOURCE))
    assert "too few free devices for the pod's extended resources" in said
    assert cluster.run_without("other") == ""


def test_what_no_node_has_is_found_out_once_while_devices_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    said = cluster.run_with(
        device_class(extended=RESOURCE), resource_slice("s", "d0", on="n1", driver="nic.example.com")
    )
    found = list[str]()

    def explained(ssn: Any, advisers: Any, task_class: Any, codes: Any) -> Any:
        found.append(task_class.key)
        return explain_barred(ssn, advisers, task_class, codes)

    monkeypatch.setattr(barred, "explain_barred", explained)
    assert cluster.run_with(pod_group("h"), pod("q", group="h", cpu="1", devices={RESOURCE: "1"})) == said
    assert found == []
