"""The texts about GPUs that nodes and pods carry."""

from __future__ import annotations

import pytest

from volcano_py.api.annotations.vgpu import Device, read_devices, read_register, write_devices
from volcano_py.api.bounds import CARDS

TEXT = "GPU-1a,NVIDIA,4096,30:GPU-2b,NVIDIA,4096,30:;GPU-1a,NVIDIA,1024,0:"
DEVICES = [[Device("GPU-1a", 4096, 30), Device("GPU-2b", 4096, 30)], [Device("GPU-1a", 1024, 0)]]


def test_a_node_announces_six_fields_a_card() -> None:
    first, second = read_register("GPU-1a,10,40960,NVIDIA-A100-SXM4-40GB,true,hami-core:GPU-2b,4,16384,T4,false,mig:")
    assert (first.uuid, first.users, first.memory, first.kind, first.mode) == (
        "GPU-1a",
        10,
        40960,
        "NVIDIA-A100-SXM4-40GB",
        "hami-core",
    )
    assert (second.uuid, second.users, second.memory, second.kind, second.mode) == ("GPU-2b", 4, 16384, "T4", "mig")
    assert read_register("") == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A,10,40960,T4,true:", id="a field is missing"),
        pytest.param("A,10,-1,T4,true,hami-core:", id="less than no memory"),
        pytest.param("A,x,1,T4,true,hami-core:", id="no number"),
        pytest.param("A,²,1,T4,true,hami-core:", id="another digit"),
        pytest.param(",10,1,T4,true,hami-core:", id="no UUID"),
        pytest.param("A,1,1,T4,true,hami-core:" * 2, id="a UUID twice"),
        pytest.param("".join(f"{n},1,1,T4,true,m:" for n in range(CARDS.most + 1)), id="too many"),
    ],
)
def test_one_bad_record_voids_all(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - that is all it says
        read_register(text)


def test_the_cards_of_a_pod_are_written_by_container_and_read_back() -> None:
    assert write_devices(DEVICES) == TEXT
    assert read_devices(TEXT, 9) == [*DEVICES[0], *DEVICES[1]]
    assert read_devices(TEXT, 2) == DEVICES[0]


@pytest.mark.parametrize("text", ["", ":;:", "A", "A,NVIDIA,1", "A,NVIDIA,-1,1:", "A,NVIDIA,1,-1:", ",NVIDIA,1,1:"])
def test_what_anybody_may_have_written_is_left_out_where_it_means_nothing(text: str) -> None:
    assert read_devices(text, 9) == []


def test_absurd_amounts_are_capped() -> None:
    (device,) = read_devices(f"A,NVIDIA,{'9' * 4000},{'9' * 4000}:", 9)
    assert device == Device("A", 2**30, 100)


def test_instances_of_divided_cards_are_written_after_the_uuid_and_read_back() -> None:
    containers = [[Device("GPU-1a", 10240, 0, "group2-3")], [Device("GPU-1a", 5120, 10)]]
    text = write_devices(containers)
    assert text == "GPU-1a[group2-3],NVIDIA,10240,0:;GPU-1a,NVIDIA,5120,10:"
    assert read_devices(text, 9) == [device for devices in containers for device in devices]
