"""`explain node` says what is in use of the node's devices, GPUs and CPUs."""

from __future__ import annotations

from pathlib import Path

import msgspec
from click.testing import CliRunner
from msgspec.structs import replace

from tests.support.placement.cards import INDEX, asks, card, gpu_node, gpu_pod, numbered
from tests.support.placement.devices import allocated, device_claim, device_class, resource_slice, with_claims
from tests.support.placement.numa import pinned, places, topology
from tests.support.sessions import node, pod, pod_group
from volcano_py.api.devices.claims import Consumer
from volcano_py.api.objects import ApiObject
from volcano_py.cli.main import main
from volcano_py.explain.model import DevicesOfNode, GpuOfNode, NodeExplanation, NumaNode
from volcano_py.ui.rights.explanations import reduced
from volcano_py.ui.rights.sight import Sight

_API = {
    "Pod": "v1",
    "Node": "v1",
    "PodGroup": "scheduling.volcano.sh/v1beta1",
    "Numatopology": "nodeinfo.volcano.sh/v1alpha1",
}


def manifest(obj: ApiObject) -> bytes:
    kind = type(obj).__name__
    return msgspec.json.encode(
        {"apiVersion": _API.get(kind, "resource.k8s.io/v1"), "kind": kind, **msgspec.to_builtins(obj)}
    )


def test_devices_are_counted_by_driver(tmp_path: Path) -> None:
    held = device_claim("held", allocation=allocated(("n1", "d0"), node="n1"))
    objects = [
        node("n1"),
        device_class(),
        resource_slice("s", "d0", "d1", on="n1"),
        resource_slice("t", "nic", on="n1", driver="nic.example.com"),
        resource_slice("u", "d0", on="n2"),
        replace(
            held, status=replace(held.status, reserved_for=[Consumer(resource="pods", name="p", uid="pod-team-p")])
        ),
        pod_group("g"),
        with_claims(pod("p", group="g", on="n1"), "held"),
    ]
    for number, obj in enumerate(objects):
        (tmp_path / f"{number}.json").write_bytes(manifest(obj))
    output = CliRunner().invoke(main, ["explain", "node", "n1", "--from", str(tmp_path)]).output
    assert "1 of 2 devices of gpu.example.com in use" in output
    assert "0 of 1 device of nic.example.com in use" in output


def test_free_cpus_are_counted_by_numa_node(tmp_path: Path) -> None:
    objects = [
        node("n1", cpu="16"),
        topology("n1", places(8, 8), "4-15", shown={"old": "0-3"}),
        pinned("old", 4, group="", on="n1"),
        pinned("new", 2, group="", on="n1", phase="Pending"),
    ]
    for number, obj in enumerate(objects):
        (tmp_path / f"{number}.json").write_bytes(manifest(obj))
    output = CliRunner().invoke(main, ["explain", "node", "n1", "--from", str(tmp_path)]).output
    assert "2 of 8 CPUs of NUMA node 0 free" in output
    assert "8 of 8 CPUs of NUMA node 1 free" in output


def test_what_is_in_use_of_gpus_that_pods_share_is_named(tmp_path: Path) -> None:
    objects = [
        gpu_node("n1", card("GPU-1a", 16384), card("GPU-2b", 16384)),
        numbered("n2", 3, 48000, unhealthy="1"),
        gpu_pod("p", asks(1, 8192, 50), holds="GPU-1a,NVIDIA,8192,50:", on="n1"),
        gpu_pod("q", {"volcano.sh/gpu-memory": "9000"}, annotations={INDEX: "2"}, on="n2"),
    ]
    for number, obj in enumerate(objects):
        (tmp_path / f"{number}.json").write_bytes(manifest(obj))
    output = CliRunner().invoke(main, ["explain", "node", "n1", "--from", str(tmp_path)]).output
    assert "8192 of 16384 MB of GPU GPU-1a (NVIDIA-A100) in use, 50 % of the cores; users: 1" in output
    assert "0 of 16384 MB of GPU GPU-2b (NVIDIA-A100) in use; users: 0" in output
    output = CliRunner().invoke(main, ["explain", "node", "n2", "--from", str(tmp_path)]).output
    assert "0 of 16000 MB of GPU 0 in use; users: 0" in output
    assert "GPU 1" not in output
    assert "9000 of 16000 MB of GPU 2 in use; users: 1" in output


def test_what_is_wrong_with_the_capacity_of_a_node_is_named(tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_bytes(manifest(numbered("n1", 200, 16000, unhealthy="none")))
    output = " ".join(CliRunner().invoke(main, ["explain", "node", "n1", "--from", str(tmp_path)]).output.split())
    assert "status.capacity.volcano.sh/gpu-number is 200: at most 128 are evaluated" in output
    assert "annotation volcano.sh/gpu-unhealthy-ids is 'none': write the numbers of GPUs" in output


def test_a_numatopology_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for number, obj in enumerate([node("n1"), topology("n1", places(2), "0-x")]):
        (tmp_path / f"{number}.json").write_bytes(manifest(obj))
    output = CliRunner().invoke(main, ["explain", "node", "n1", "--from", str(tmp_path)]).output
    assert "spec.numares.cpu.allocatable is '0-x'" in output


def test_who_may_not_see_use_sees_what_is_there() -> None:
    devices, numa = (DevicesOfNode("gpu.example.com", 2, 1),), (NumaNode(0, 8, 2),)
    gpus = (GpuOfNode("GPU-1a", "T4", 16384, 8192, 50, 1),)
    found = NodeExplanation("n1", {}, {}, {}, devices=devices, numa=numa, gpus=gpus)
    shown = reduced(found, Sight())
    assert isinstance(shown, NodeExplanation)
    assert shown.devices == (DevicesOfNode("gpu.example.com", 2, None),)
    assert shown.numa == (NumaNode(0, 8, None),)
    assert shown.gpus == (GpuOfNode("GPU-1a", "T4", 16384, None, None, None),)
