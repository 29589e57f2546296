"""The mixed load has the shares of the traces, the same objects each time, and nothing that its cluster cannot give."""

from __future__ import annotations

from collections import Counter

import pytest

from volcano_py.api.objects import Node, Pod, PodGroup
from volcano_py.bench.loads.gpu_trace import KINDS, MACHINES, SPREAD, Kind, gang_sizes
from volcano_py.bench.loads.mixed_load import PRIORITIES, ZONES, MixedWorkload

LARGE = MixedWorkload(nodes=1523, pods=50_000)
_MODEL = "nvidia.com/gpu.product"


@pytest.mark.parametrize(
    "shares",
    [
        [machine.share for machine in MACHINES],
        [kind.share for kind in KINDS],
        *([shape.share for shape in kind.shapes] for kind in KINDS),
        *([share for share, _ in kind.qualities] for kind in KINDS),
        *([share for share, _ in kind.models] for kind in KINDS),
    ],
)
def test_what_is_left_out_of_the_shares_is_little(shares: list[float]) -> None:
    assert 89 < sum(shares) < 100.5


def test_nodes_have_the_shares_of_the_trace() -> None:
    counts = Counter(LARGE.machines)
    assert sum(counts.values()) == 1523
    for machine in MACHINES:
        assert counts[machine] == pytest.approx(1523 * machine.share / 100, rel=0.02, abs=1)


def test_pods_have_the_shares_of_the_trace() -> None:
    kinds = Counter(kind_of(job.shape) for job in LARGE.jobs for _ in range(job.size))
    for kind in KINDS:
        assert 100 * kinds[kind] / LARGE.pods == pytest.approx(kind.share, abs=5)


def test_gangs_are_as_large_as_the_jobs_of_the_trace_in_their_order() -> None:
    sizes = gang_sizes()
    assert Counter(sizes) == {1: 769, 8: 147, 4: 49, 32: 23, 64: 6, 16: 5, 2: 1}
    assert tuple(job.size for job in LARGE.jobs[:1000]) == sizes
    assert tuple(job.size for job in LARGE.jobs[1000:2000]) == sizes


def test_no_gang_has_more_than_a_twentieth_of_few_pods() -> None:
    assert max(job.size for job in MixedWorkload(nodes=10, pods=200).jobs) == 8


def kind_of(shape: object) -> Kind:
    [kind] = [kind for kind in KINDS if shape in kind.shapes]
    return kind


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
        assert pod.spec.priority == PRIORITIES[job.quality]
        assert bool(pod.spec.topology_spread_constraints) is (job.quality == SPREAD[0] and job.size in SPREAD[1])
        assert groups[job.name].spec.min_member == job.size
        assert groups[job.name].spec.priority_class_name == job.quality
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
