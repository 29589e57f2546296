"""The mixed load has the rows of the traces, the same objects each time, and nothing that its cluster cannot give."""

from __future__ import annotations

from collections import Counter

import pytest

from volcano_py.api.objects import Node, Pod, PodGroup
from volcano_py.bench.loads.gpu_trace import Machine, Shape, gang_sizes, machines, shapes
from volcano_py.bench.loads.mixed_load import PRIORITIES, SPREAD, ZONES, MixedWorkload

LARGE = MixedWorkload(nodes=1523, pods=50_000)
_MODEL = "nvidia.com/gpu.product"


def test_nodes_are_those_of_the_trace() -> None:
    assert len(machines()) == 1523
    assert Counter(machines()).most_common(3) == [
        (Machine("G2", 8, 96_000, 393_216), 549),
        (Machine("T4", 2, 104_000, 524_288), 387),
        (Machine("", 0, 32_000, 262_144), 129),
    ]
    assert Counter(LARGE.machines) == Counter(machines())


@pytest.mark.parametrize("nodes", [10, 200, 5000])
def test_more_or_fewer_nodes_have_their_shares(nodes: int) -> None:
    found, known = Counter(MixedWorkload(nodes=nodes, pods=1).machines), Counter(machines())
    assert found.total() == nodes
    for machine, count in known.items():
        assert found[machine] == pytest.approx(nodes * count / 1523, abs=1)


def test_pods_are_every_eighth_of_the_trace() -> None:
    found = shapes()
    assert len(found) == 1019
    assert found[0] == Shape(12_000, 16_384, 10, (), "LS")
    assert Counter(shape.quality for shape in found) == {"LS": 581, "BE": 423, "Burstable": 14, "Guaranteed": 1}
    assert sum(shape.tenths == 0 for shape in found) == 139, "ask for no GPU"
    assert sum(0 < shape.tenths < 10 for shape in found) == 381, "share one"
    assert sum(shape.tenths > 10 for shape in found) == 9, "ask for several"
    assert ("V100M16", "V100M32") in {shape.models for shape in found}


def test_pods_that_share_a_gpu_get_no_less_than_they_asked_for() -> None:
    assert {shape.tenths for shape in shapes()} <= {*range(11), 20, 40, 80}
    assert min(shape.tenths for shape in shapes() if shape.tenths) == 1


def test_gangs_are_as_large_as_the_jobs_of_the_trace_in_their_order() -> None:
    sizes = gang_sizes()
    assert Counter(sizes) == {1: 769, 8: 147, 4: 49, 32: 23, 64: 6, 16: 5, 2: 1}
    assert [job.size for job in LARGE.jobs[:1000]] == sizes
    assert [job.size for job in LARGE.jobs[1000:2000]] == sizes
    assert [job.shape for job in LARGE.jobs[:1019]] == shapes()


def test_no_gang_has_more_than_a_twentieth_of_few_pods() -> None:
    assert max(job.size for job in MixedWorkload(nodes=10, pods=200).jobs) == 8


@pytest.mark.parametrize("pods", [1, 7, 60, 1000])
def test_there_are_as_many_pods_as_asked_for_the_same_each_time(pods: int) -> None:
    workload, again = MixedWorkload(nodes=10, pods=pods), MixedWorkload(nodes=10, pods=pods)
    assert sum(job.size for job in workload.jobs) == pods
    assert workload.jobs == again.jobs
    assert workload.machines == again.machines


def test_objects_are_those_of_the_jobs() -> None:
    workload = MixedWorkload(nodes=200, pods=2000)
    items = list(workload.items())
    groups = {obj.metadata.name: obj for _, obj in items if isinstance(obj, PodGroup)}
    pods = [obj for _, obj in items if isinstance(obj, Pod)]
    jobs = {job.name: job for job in workload.jobs}
    assert len(pods) == 2000
    assert groups.keys() == jobs.keys()
    for pod in pods:
        job = jobs[pod.metadata.labels["bench/job"]]
        assert pod.spec.priority == PRIORITIES[job.shape.quality]
        assert bool(pod.spec.topology_spread_constraints) is (job.shape.quality == SPREAD[0] and job.size in SPREAD[1])
        assert groups[job.name].spec.min_member == job.size
        assert groups[job.name].spec.priority_class_name == job.priority_class
        asked = pod.spec.containers[0].resources.requests
        assert asked.get("nvidia.com/gpu", "0") == str(job.shape.tenths)


def test_pods_that_need_a_model_of_gpu_say_so_and_nodes_have_one() -> None:
    workload = MixedWorkload(nodes=200, pods=2000)
    items = [obj for _, obj in workload.items()]
    models = {obj.metadata.labels[_MODEL] for obj in items if isinstance(obj, Node) and _MODEL in obj.metadata.labels}
    zones = {obj.metadata.labels["topology.kubernetes.io/zone"] for obj in items if isinstance(obj, Node)}
    assert len(zones) == ZONES
    wanted = {obj.spec.node_selector[_MODEL] for obj in items if isinstance(obj, Pod) and obj.spec.node_selector}
    assert wanted
    assert wanted <= models
    assert any(obj.spec.affinity for obj in items if isinstance(obj, Pod))
