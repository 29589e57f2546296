"""In memory, a Numatopology shows the CPUs of a pod that is gone as free, as Volcano's resource-exporter does."""

import pytest
from msgspec.structs import replace

from tests.support.placement.numa import pinned, places, topology
from volcano_py.api.numa.topologies import NUMATOPOLOGY, ContainerAllocation, Numatopology, PodAllocation
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.state.cluster_state import ClusterState

SHOWN = {"goes": "0-1", "stays": "2-3"}


def after(made: Numatopology) -> Numatopology:
    """The object once the pod `goes` has gone from n1."""
    cluster = MemoryCluster(ClusterState())
    cluster.put(NUMATOPOLOGY, made)
    for name in SHOWN:
        cluster.put("Pod", pinned(name, 2, on="n1"))
    cluster.remove("Pod", "team/goes")
    found = cluster.get(NUMATOPOLOGY, made.metadata.name, Numatopology)
    assert found is not None
    return found


def test_cpus_of_a_pod_that_is_gone_are_free() -> None:
    made = topology("n1", places(8), "4-7", shown=SHOWN)
    spec = after(made).spec
    assert spec.numares["cpu"].allocatable == "0-1,4-7"
    assert [each.name for each in spec.pod_allocations] == ["stays"]


def test_pods_are_known_by_uid_too() -> None:
    made = topology("n1", places(8), "4-7")
    by_uid = PodAllocation(uid="pod-team-goes", container_allocations=[ContainerAllocation(allocations={"cpu": "0"})])
    made = replace(made, spec=replace(made.spec, pod_allocations=[by_uid]))
    assert after(made).spec.numares["cpu"].allocatable == "0,4-7"


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(topology("n1", places(8), "4-7"), id="the object names no pods"),
        pytest.param(topology("n2", places(8), "4-7", shown=SHOWN), id="another node"),
        pytest.param(topology("n1", places(8), "4-x", shown=SHOWN), id="what is free cannot be read"),
        pytest.param(topology("n1", places(8), "4-7", shown={"goes": "1-0"}), id="what the pod has cannot be read"),
    ],
)
def test_otherwise_the_object_stays_as_it_is(made: Numatopology) -> None:
    assert after(made) is made
