"""Jobs that wait for a host port, a disk or a volume rest, and are decided and reported as if they did not."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.property.explaining.answering_cluster import DRIVER, AnsweringCluster
from tests.property.histories import NAMESPACES, NODES
from tests.property.resting.test_at_rest_another_cycle_changes_nothing import parsed
from tests.property.resting.test_what_rests_is_decided_and_reported_as_if_it_were_new import (
    FEW,
    WITH_EVICTIONS,
    WITHOUT_EVICTIONS,
    InAFullCluster,
    configured,
    live,
)
from tests.support.placement.volumes import (
    HOST,
    LOCAL,
    MADE,
    capacity,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
)
from tests.unit.state.watched import with_meta, with_spec
from volcano_py.api.objects import GCEPersistentDiskSource, Pod, Volume
from volcano_py.api.volumes import CSIDriver, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim

KEPT_FOR_DEVICES: Final = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins:
  - name: predicates
    arguments:
      predicate.ProportionalEnable: true
      predicate.resources: nvidia.com/gpu
      predicate.resources.nvidia.com/gpu.cpu: 3
  - {name: proportion}
  - {name: resource-strategy-fit, arguments: {sra: {policy: proportional, resources: nvidia.com/gpu}}}
"""
_SHARED: Final = ("shared-0", "shared-1")
"""Claims that several pods use."""


class WithPortsAndVolumes(InAFullCluster):
    """Most work asks for a host port, a disk, or claims that there are volumes for, or not; storage comes and goes."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [*[self.work_comes] * 4, *[self.a_claim_comes_or_goes] * 3, *[self.a_volume_comes_or_goes] * 3]
        self._steps += [self.a_node_attaches_fewer, self.a_driver_has_room, self.a_driver_reports_room_or_not]

    def begin(self) -> None:
        self._cluster.new(storage_class(LOCAL))
        self._cluster.new(storage_class(MADE, provisioner=DRIVER))
        for _ in range(3):
            self.a_volume_comes_or_goes()
        for _ in range(2):
            self.a_node_attaches_fewer()
        super().begin()

    def _wishes(self) -> dict[str, Any]:
        wishes = super()._wishes()
        if self._rng.random() < 0.4:
            wishes["host_ports"] = [self._rng.choice([80, 81])]
        return wishes

    def _equipped(self, one: Pod) -> Pod:
        rng, meta = self._rng, one.metadata
        match rng.randint(0, 9):
            case 0 | 1 | 2:
                self._claim(meta.namespace, meta.name)
                return using(one, meta.name)
            case 3 | 4:
                return using(one, rng.choice(_SHARED))
            case 5:
                return using(one, meta.name)  # a claim that there is not
            case 6:
                source = GCEPersistentDiskSource(pd_name=rng.choice(["d0", "d1"]), read_only=rng.random() < 0.5)
                mounting: Pod = with_spec(one, volumes=[Volume(name="disk", gce_persistent_disk=source)])
                return mounting
            case _:
                return one

    def _claim(self, namespace: str, name: str, *modes: str) -> str:
        rng = self._rng
        of, size = rng.choice([LOCAL, MADE]), rng.choice(["10Gi", "20Gi"])
        made = claim(name, of=of, size=size, modes=modes or ("ReadWriteOnce",))
        self._cluster.new(with_meta(made, namespace=namespace))
        return f"{namespace}/{name} of {of}, {size} {modes}"

    def a_claim_comes_or_goes(self) -> str:
        rng = self._rng
        namespace, name = rng.choice(NAMESPACES), rng.choice(_SHARED)
        pods = [each for each in self._cluster.all(Pod) if each.spec.volumes and not each.spec.node_name]
        if pods and rng.random() < 0.4:
            namespace, name = (one := rng.choice(pods).metadata).namespace, one.name
        known = self._cluster.find(PersistentVolumeClaim, f"{namespace}/{name}")
        if known is None:
            return self._claim(namespace, name, rng.choice(["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]))
        self._cluster.remove(known)
        return f"{namespace}/{name} goes"

    def a_volume_comes_or_goes(self) -> str:
        rng, known = self._rng, self._cluster.all(PersistentVolume)
        free = [each for each in known if each.spec.claim_ref is None]
        if free and rng.random() < 0.3:
            self._cluster.remove(one := rng.choice(free))
            return f"{one.metadata.name} goes"
        self._serial += 1
        node, driver = rng.choice(NODES), rng.choice(["", DRIVER])
        modes = ["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]
        made = volume(f"pv-{self._serial}", on=rng.choice([[node], [node], None]), modes=modes, driver=driver)
        self._cluster.new(made)
        return f"pv-{self._serial} on {node}"

    def a_node_attaches_fewer(self) -> str:
        node, most = self._rng.choice(NODES), self._rng.randint(0, 3)
        self._change(csi_node(node, **{DRIVER: most}))
        return f"{node} {most}"

    def a_driver_has_room(self) -> str:
        rng = self._rng
        node, free = rng.choice(NODES), rng.choice(["5Gi", "15Gi", "100Gi"])
        known = self._cluster.find(CSIStorageCapacity, f"kube-system/{node}")
        made = capacity(node, free=free, nodes={HOST: node})
        self._cluster.put(made if known is None else replace(made, metadata=known.metadata))
        return f"{free} on {node}"

    def a_driver_reports_room_or_not(self) -> str:
        reports = self._rng.random() < 0.5
        self._change(csi_driver(DRIVER, reports_capacity=reports))
        return f"{reports} {len(self._cluster.all(CSIDriver))}"


@pytest.mark.parametrize("name", WITHOUT_EVICTIONS + WITH_EVICTIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_ports_and_volumes_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(name), WithPortsAndVolumes))


@pytest.mark.parametrize("name", WITHOUT_EVICTIONS + WITH_EVICTIONS)
def test_there_are_jobs_that_rest_for_ports_and_volumes_in_such_histories(name: str) -> None:
    assert any(
        asyncio.run(live(Random(seed), configured(name), WithPortsAndVolumes)).rested_for_pods for seed in range(10)
    )


@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_devices_to_be_used_is_decided_and_reported_as_if_it_were_new(rng: Random) -> None:
    """Nodes refuse it by how much is used of them, not by what it asks for itself."""
    asyncio.run(live(rng, parsed(KEPT_FOR_DEVICES), WithPortsAndVolumes))
