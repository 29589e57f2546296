"""A capture decides like the cluster it was taken of: stripped, written and read again, and with other names."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from tests.property.clusters import Cluster, clusters
from tests.support.registries import checked_registry
from volcano_py.api.objects import metadata_of
from volcano_py.capture.anonymous import anonymized
from volcano_py.capture.contents import stripped
from volcano_py.capture.file import of_bytes, written
from volcano_py.capture.model import Capture
from volcano_py.capture.start import configuration_of, simulation_of
from volcano_py.cluster.manifests import EPOCH
from volcano_py.config import default_configuration_text
from volcano_py.simulation import Simulation, SimulationResult

REGISTRY = checked_registry()
TAKEN = EPOCH.timestamp()


def captured(cluster: Cluster) -> Capture:
    items = tuple((kind, stripped(obj)) for kind, obj in cluster.stored())
    return Capture(taken=TAKEN, items=items, configuration=default_configuration_text())


def decided(capture: Capture) -> SimulationResult:
    return simulation_of(capture, configuration_of(capture, REGISTRY), REGISTRY).run(10)


@given(clusters())
@settings(deadline=None)
def test_a_file_decides_as_the_cluster_does(cluster: Cluster) -> None:
    capture = captured(cluster)
    live = Simulation(cluster.stored(), configuration_of(capture, REGISTRY), REGISTRY, live=TAKEN).run(10)

    assert decided(of_bytes(written(capture), "file")).as_json() == live.as_json()


@given(clusters())
@settings(deadline=None)
def test_other_names_are_decided_alike(cluster: Cluster) -> None:
    """Jobs of different ages: a hash of the name decides between those of the same age and priority."""
    cluster = replace(cluster, jobs=tuple(replace(job, age=number) for number, job in enumerate(cluster.jobs)))
    capture = captured(cluster)
    other = anonymized(capture)
    names = {
        metadata_of(old).key: metadata_of(new).key
        for (_, old), (_, new) in zip(capture.items, other.items, strict=True)
    }

    before, after = decided(capture), decided(other)

    assert after.binds == {names[pod]: names[node] for pod, node in before.binds.items()}
    assert after.evictions == tuple(names[pod] for pod in before.evictions)
    assert {pod: why.partition(":")[0] for pod, why in after.unschedulable.items()} == {
        names[pod]: why.partition(":")[0] for pod, why in before.unschedulable.items()
    }
    assert {group: each["phase"] for group, each in after.pod_groups.items()} == {
        names[group]: each["phase"] for group, each in before.pod_groups.items()
    }
