"""Numatopologies on the wire, and their lists of CPUs."""

import msgspec
import pytest

from volcano_py.api.numa.cpu_lists import read_cpus, write_cpus
from volcano_py.api.numa.topologies import CpuPlace, Numatopology

WRITTEN = b"""{"apiVersion": "nodeinfo.volcano.sh/v1alpha1", "kind": "Numatopology", "metadata": {"name": "n1"},
"spec": {"policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "best-effort"},
"resReserved": {"cpu": "1"}, "numares": {"cpu": {"allocatable": "0-3,8", "capacity": 16}},
"cpuDetail": {"0": {}, "1": {"numa": 1, "socket": 1, "core": 3}},
"podAllocations": [{"uid": "u", "containerAllocations": [{"name": "c", "allocations": {"cpu": "0,2-4"}}]}]}}"""


def test_all_fields_are_read_and_zeros_that_are_left_out_are_zeros() -> None:
    spec = msgspec.json.decode(WRITTEN, type=Numatopology).spec
    assert spec.policies == {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "best-effort"}
    assert spec.res_reserved == {"cpu": "1"}
    assert (spec.numares["cpu"].allocatable, spec.numares["cpu"].capacity) == ("0-3,8", 16)
    assert spec.cpu_detail == {"0": CpuPlace(), "1": CpuPlace(numa=1, socket=1, core=3)}
    (pod,) = spec.pod_allocations
    assert (pod.uid, pod.container_allocations[0].allocations) == ("u", {"cpu": "0,2-4"})


@pytest.mark.parametrize(
    ("text", "cpus"), [("", 0), (" ", 0), ("0", 1), ("0-3,8", 0b100001111), ("1, 3-4", 0b11010), ("4095", 1 << 4095)]
)
def test_a_list_is_a_set_of_cpus(text: str, cpus: int) -> None:
    assert read_cpus(text) == cpus
    assert read_cpus(write_cpus(cpus)) == cpus


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a", "'a' is not a CPU from 0 to 4095"),
        ("1,,2", "'' is not a CPU from 0 to 4095"),
        ("0-99999999999", "'99999999999' is not a CPU from 0 to 4095"),
        ("4096", "'4096' is not a CPU from 0 to 4095"),
        ("٣", "'٣' is not a CPU from 0 to 4095"),
        ("3-1", "range 3-1 goes down"),
    ],
)
def test_what_is_no_list_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read_cpus(text)
