"""examples/network, whose gangs arrive one after the other: all but the one that is too large for a rack run."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.support.registries import checked_registry
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.cluster.manifests import read_paths, stored
from volcano_py.config import parse_configuration
from volcano_py.shipped import shipped
from volcano_py.simulation import Simulation

EXAMPLE = shipped("examples") / "network"
GROUP = "scheduling.k8s.io/group-name"
GANGS = ("spans-two-racks", "small", "fits-a-rack", "too-large")


def gang_of(obj: object) -> str:
    if isinstance(obj, PodGroup):
        return obj.metadata.name
    return obj.metadata.annotations[GROUP] if isinstance(obj, Pod) else ""


@pytest.mark.parametrize("order", list(permutations(GANGS)), ids=" ".join)
def test_three_of_the_four_gangs_run(order: tuple[str, ...]) -> None:
    registry = checked_registry()
    text = (EXAMPLE / "volcano-scheduler.conf").read_text(encoding="utf-8")
    parsed = parse_configuration(text, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    objects = list(stored(read_paths([EXAMPLE])))
    simulation = Simulation([each for each in objects if not gang_of(each[1])], parsed.config, registry)
    for gang in order:
        for kind, obj in objects:
            if gang_of(obj) == gang:
                simulation.cluster.put(kind, obj)
        simulation.run()
    pods = simulation.cluster.objects("Pod", Pod)
    assert {gang_of(pod) for pod in pods if not pod.spec.node_name} == {"too-large"}
    assert len([pod for pod in pods if pod.spec.node_name]) == 10
