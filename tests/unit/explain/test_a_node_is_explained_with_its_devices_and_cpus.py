"""`explain node` says how many of the node's devices are in use, and which of its CPUs are free."""

from __future__ import annotations

from pathlib import Path

import msgspec
from click.testing import CliRunner
from msgspec.structs import replace

from tests.support.placement.devices import allocated, device_claim, device_class, resource_slice, with_claims
from tests.support.placement.numa import pinned, places, topology
from tests.support.sessions import node, pod, pod_group
from volcano_py.api.devices.claims import Consumer
from volcano_py.api.objects import ApiObject
from volcano_py.cli.main import main
from volcano_py.explain.model import DevicesOfNode, NodeExplanation, NumaNode
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


def test_a_numatopology_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for number, obj in enumerate([node("n1"), topology("n1", places(2), "0-x")]):
        (tmp_path / f"{number}.json").write_bytes(manifest(obj))
    output = CliRunner().invoke(main, ["explain", "node", "n1", "--from", str(tmp_path)]).output
    assert "spec.numares.cpu.allocatable is '0-x'" in output


def test_who_may_not_see_use_sees_what_is_there() -> None:
    devices, numa = (DevicesOfNode("gpu.example.com", 2, 1),), (NumaNode(0, 8, 2),)
    found = NodeExplanation("n1", {}, {}, {}, devices=devices, numa=numa)
    shown = reduced(found, Sight())
    assert isinstance(shown, NodeExplanation)
    assert shown.devices == (DevicesOfNode("gpu.example.com", 2, None),)
    assert shown.numa == (NumaNode(0, 8, None),)
