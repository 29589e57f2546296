"""Nodes with GPUs to share, and pods that ask for parts of them or hold some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tests.support.sessions import node, pod
from volcano_py.api.objects import Container, Node, Pod, ResourceRequirements

REGISTER = "volcano.sh/node-vgpu-register"
IDS = "volcano.sh/vgpu-ids-new"
UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"
INDEX = "volcano.sh/gpu-index"
PLENTY: Mapping[str, str] = {
    "volcano.sh/vgpu-number": "1000",
    "volcano.sh/vgpu-memory": "100000000",
    "volcano.sh/vgpu-cores": "100000",
}
"""What a node offers where only cards are to decide."""


A100: Mapping[str, Any] = {
    "models": ["A100-SXM4-40GB", "A100-PCIE-40GB"],
    "allowedGeometries": [
        {"group": "group1", "geometries": [{"name": "1g.5gb", "memory": 5120, "count": 7}]},
        {
            "group": "group2",
            "geometries": [
                {"name": "2g.10gb", "memory": 10240, "count": 3},
                {"name": "1g.5gb", "memory": 5120, "count": 1},
            ],
        },
        {"group": "group3", "geometries": [{"name": "3g.20gb", "memory": 20480, "count": 2}]},
    ],
}
"""Instances that a GPU with MIG may have."""


def mig_card(uuid: str, memory: int = 40960, *, users: int = 10) -> str:
    return card(uuid, memory, users=users, kind="NVIDIA-A100-SXM4-40GB", mode="mig")


def card(uuid: str, memory: int = 40960, *, users: int = 10, kind: str = "NVIDIA-A100", mode: str = "hami-core") -> str:
    """One record of a node's annotation."""
    return f"{uuid},{users},{memory},{kind},true,{mode}:"


def gpu_node(name: str, *cards: str, offers: Mapping[str, str] = PLENTY, **fields: Any) -> Node:
    made = node(name, devices=offers, **fields)
    return replace(made, metadata=replace(made.metadata, annotations={REGISTER: "".join(cards)}))


def numbered(name: str, number: int, memory: int = 0, *, unhealthy: str = "", **fields: Any) -> Node:
    """A node with so many GPUs for Volcano's older device plugin, and MB in all. Its allocatable refuses nothing."""
    made = node(name, devices={"volcano.sh/gpu-number": "1000", "volcano.sh/gpu-memory": "100000000"}, **fields)
    capacity = {"volcano.sh/gpu-number": str(number), "volcano.sh/gpu-memory": str(memory)}
    marks = {UNHEALTHY: unhealthy} if unhealthy else {}
    return replace(
        made,
        metadata=replace(made.metadata, annotations=marks),
        status=replace(made.status, capacity=capacity),
    )


def asks(number: int | None = None, memory: int = 0, cores: int = 0) -> dict[str, str]:
    """The limits of a container."""
    limits = {"vgpu-number": number, "vgpu-memory": memory or None, "vgpu-cores": cores or None}
    return {f"volcano.sh/{name}": str(amount) for name, amount in limits.items() if amount is not None}


def gpu_pod(
    name: str,
    *containers: Mapping[str, str],
    holds: str = "",
    annotations: Mapping[str, str] | None = None,
    group: str = "g",
    **fields: Any,
) -> Pod:
    """A pod whose containers have these limits; `holds` is the text of its cards."""
    marks = {**(annotations or {}), **({IDS: holds} if holds else {})}
    made = pod(name, group=group, annotations=marks, **fields)
    return replace(made, spec=replace(made.spec, containers=_containers(containers)))


def _containers(limits: Sequence[Mapping[str, str]]) -> list[Container]:
    return [
        Container(name=f"c{number}", resources=ResourceRequirements(limits=dict(of_one), requests=dict(of_one)))
        for number, of_one in enumerate(limits)
    ]
