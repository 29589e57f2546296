"""Nodes that have the pod's images already are preferred, by kube-scheduler's formula."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.placement.node_answers import scores
from tests.support.sessions import node, open_session, pod, pod_group
from volcano_py.api.objects import ContainerImage, Node, Pod
from volcano_py.plugins.nodeorder import NodeOrder

MIB = 2**20
ONLY_IMAGES = {"leastrequested.weight": 0, "balancedresource.weight": 0}


def with_images(name: str, **sizes_in_mib: int) -> Node:
    made = node(name)
    images = [
        ContainerImage(
            names=[f"registry.example/{image}:latest", f"registry.example/{image}@sha256:0"], size_bytes=size * MIB
        )
        for image, size in sizes_in_mib.items()
    ]
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, images=images))


def running(name: str, *images: str) -> Pod:
    made = pod(name, group="g")
    [container] = made.spec.containers
    containers = [msgspec.structs.replace(container, image=image) for image in images]
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, containers=containers))


def image_scores(*nodes: Node, images: tuple[str, ...], weight: int = 1) -> dict[str, float]:
    arguments = {**ONLY_IMAGES, "imagelocality.weight": weight}
    opened = open_session(nodes, pod_group("g"), running("p", *images), tiers=[[(NodeOrder, {"arguments": arguments})]])
    return scores(opened, NodeOrder, "p")


def expected(mib: float, images: int = 1) -> int:
    """From 23 MiB, which count nothing, to 1000 MiB an image, which count 100."""
    present = min(max(int(mib * MIB), 23 * MIB), 1000 * MIB * images)
    return 100 * (present - 23 * MIB) // (1000 * MIB * images - 23 * MIB)


def test_the_bytes_on_the_node_count_by_how_many_nodes_have_them() -> None:
    found = image_scores(with_images("half", tool=600), with_images("none"), images=("registry.example/tool:latest",))
    assert found == {"half": expected(300), "none": 0}
    assert found["half"] == 28
    spread = image_scores(
        with_images("a", tool=600), with_images("b", tool=600), images=("registry.example/tool:latest",)
    )
    assert spread == {"a": expected(600), "b": expected(600)}


def test_small_images_count_nothing_and_huge_ones_no_more_than_the_threshold() -> None:
    assert image_scores(with_images("n", tool=22), images=("registry.example/tool",)) == {"n": 0}
    assert image_scores(with_images("n", tool=23), images=("registry.example/tool",)) == {"n": 0}
    assert image_scores(with_images("n", tool=9000), images=("registry.example/tool",)) == {"n": 100}


def test_several_images_are_summed_against_a_threshold_each() -> None:
    both = ("registry.example/tool", "registry.example/data")
    assert image_scores(with_images("n", tool=500, data=300), images=both) == {"n": expected(800, images=2)}


def test_absurd_sizes_count_as_the_largest_or_as_nothing() -> None:
    nodes = [with_images("huge", tool=2**63 // MIB - 1), with_images("none"), with_images("less", tool=-(2**40))]
    assert image_scores(*nodes, images=("registry.example/tool:latest",) * 20) == {"huge": 100, "none": 0, "less": 0}


def test_an_image_counts_for_each_container_that_has_it_init_containers_too() -> None:
    there, absent = "registry.example/tool", "registry.example/other"
    assert image_scores(with_images("n", tool=300), images=(there, there)) == {"n": expected(600, images=2)}
    made = running("p", absent)
    prepares = msgspec.structs.replace(made.spec.containers[0], image=there)
    made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, init_containers=[prepares]))
    opened = open_session(
        with_images("n", tool=300), pod_group("g"), made, tiers=[[(NodeOrder, {"arguments": ONLY_IMAGES})]]
    )
    assert scores(opened, NodeOrder, "p") == {"n": expected(300, images=2)}


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("registry.example/tool", True),
        ("registry.example/tool:latest", True),
        ("registry.example/tool:v2", False),
        ("registry.example/tool@sha256:0", True),
        ("registry.example:5000/tool", False),
    ],
)
def test_a_missing_tag_is_latest(asked: str, there: bool) -> None:
    assert image_scores(with_images("n", tool=1000), images=(asked,)) == {"n": 100 if there else 0}


def test_nodes_that_only_pods_speak_of_do_not_thin_the_spread() -> None:
    opened = open_session(
        with_images("n1", tool=1000),
        pod("lost", on="gone"),
        pod_group("g"),
        running("p", "registry.example/tool"),
        tiers=[[(NodeOrder, {"arguments": ONLY_IMAGES})]],
    )
    assert scores(opened, NodeOrder, "p")["n1"] == 100


def test_the_weight_multiplies_and_0_switches_off() -> None:
    one = with_images("n", tool=1000)
    assert image_scores(one, images=("registry.example/tool",), weight=3) == {"n": 300}
    assert image_scores(one, images=("registry.example/tool",), weight=0) == {"n": 0}
