"""Which pods get CPUs of their own, and how these are to lie."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.placement.numa import pinned
from volcano_py.api.objects import Container, Pod, ResourceRequirements
from volcano_py.api.quantity import LARGEST
from volcano_py.state.numa.asked import CpusAsked, cpus_asked


def with_resources(made: Pod, **resources: Any) -> Pod:
    containers = [Container(name="c", resources=ResourceRequirements(**resources))]
    return replace(made, spec=replace(made.spec, containers=containers))


def with_sidecar(made: Pod) -> Pod:
    sidecars = [replace(each, restart_policy="Always") for each in made.spec.init_containers]
    return replace(made, spec=replace(made.spec, init_containers=sidecars))


@pytest.mark.parametrize(
    ("pod", "asked"),
    [
        pytest.param(pinned("p", 2), CpusAsked("single-numa-node", (2,)), id="whole CPUs"),
        pytest.param(pinned("p", 2, policy=""), CpusAsked("", (2,)), id="without a policy"),
        pytest.param(pinned("p", 2, policy="none"), CpusAsked("", (2,)), id="policy none"),
        pytest.param(pinned("p", 2, policy="strict"), CpusAsked("", (2,)), id="an unknown policy"),
        pytest.param(pinned("p", 3, "500m", "2000m"), CpusAsked("single-numa-node", (3, 2)), id="a part is left out"),
        pytest.param(pinned("p", "500m"), CpusAsked("single-numa-node"), id="no whole ones"),
        pytest.param(pinned("p", "500m", policy=""), None, id="nothing"),
        pytest.param(pinned("p", 2, init="4"), CpusAsked("single-numa-node", (2,)), id="init containers"),
        pytest.param(with_sidecar(pinned("p", 2, init="3")), CpusAsked("single-numa-node", (3, 2)), id="a sidecar"),
        pytest.param(pinned("p", 2, "x"), None, id="an amount that cannot be read"),
        pytest.param(pinned("p", "1e24"), CpusAsked("single-numa-node", (LARGEST,)), id="an absurd amount"),
        pytest.param(with_resources(pinned("p"), limits={"cpu": "2"}), None, id="no memory"),
        pytest.param(
            with_resources(pinned("p"), limits={"cpu": "2", "memory": "1Gi"}),
            CpusAsked("single-numa-node", (2,)),
            id="limits alone",
        ),
        pytest.param(
            with_resources(pinned("p"), limits={"cpu": "2", "memory": "1Gi"}, requests={"cpu": "1"}),
            None,
            id="requests below limits",
        ),
        pytest.param(
            replace(
                pinned("p", 2),
                spec=replace(
                    pinned("p", 2).spec,
                    resources=ResourceRequirements(limits={"cpu": "2", "memory": "1Gi"}),
                ),
            ),
            CpusAsked("single-numa-node"),
            id="resources that containers share",
        ),
    ],
)
def test_only_whole_cpus_of_guaranteed_pods_count(pod: Pod, asked: CpusAsked | None) -> None:
    assert cpus_asked(pod) == asked
