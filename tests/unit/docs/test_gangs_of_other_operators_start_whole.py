"""What the page on other operators says of gangs and queues, on objects as those operators write them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.unit.docs.clusters import cluster_of, documents_of, pods_of, simulate
from tests.unit.docs.pages import PROJECT, Block, blocks
from volcano_py.api.names import DEFAULT_SCHEDULER_NAME
from volcano_py.cluster.manifests import Document, read_text
from volcano_py.framework.registry import Registry

PAGE: Final = PROJECT / "docs" / "guide" / "operators.md"
MADE: Final = {block.marks["made"].removesuffix(".yaml"): block for block in blocks(PAGE) if "made" in block.marks}
GANGS: Final = ("mpi", "pytorch", "ray", "trainer")


def one_node(cpu: int) -> list[Document]:
    resources = f"{{cpu: {cpu}, memory: 64Gi, pods: 110}}"
    return read_text(
        f"{{apiVersion: v1, kind: Node, metadata: {{name: n1}}, status: {{allocatable: {resources}}}}}", "a node"
    )


def without_nodes(block: Block) -> list[Document]:
    return [document for document in cluster_of(block) if document.body["kind"] != "Node"]


def test_each_file_is_shown() -> None:
    files = {path.stem for path in (Path(__file__).parent / "made_by_operators").iterdir()}
    assert files == MADE.keys()
    assert set(GANGS) < files


@pytest.mark.parametrize("operator", GANGS)
def test_a_gang_without_room_for_all_starts_not_at_all(operator: str, registry: Registry) -> None:
    documents = without_nodes(MADE[operator])
    pods = pods_of(documents, DEFAULT_SCHEDULER_NAME)
    for cpu, bound in ((3, set()), (8, pods)):
        assert simulate([*documents, *one_node(cpu)], registry).binds.keys() == bound


@pytest.mark.parametrize("operator", sorted(MADE.keys() - set(GANGS)))
def test_the_others_start_one_by_one(operator: str, registry: Registry) -> None:
    """Where the admission of the group asks for no room for all of them."""
    documents = without_nodes(MADE[operator])
    for document in documents:
        document.body.get("spec", {}).pop("minResources", None)
    assert 0 < len(simulate([*documents, *one_node(1)], registry).binds) < 3


@pytest.mark.parametrize("operator", MADE)
def test_all_of_it_is_charged_to_the_queue_on_the_page(operator: str, registry: Registry) -> None:
    """Nothing starts while that queue may hold nothing."""
    documents = [each for each in cluster_of(MADE[operator]) if each.body["kind"] != "Queue"]
    closed = """{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: analytics},
        spec: {capability: {cpu: 1m}}}"""
    assert simulate([*documents, *read_text(closed, "the queue")], registry).binds == {}
    assert pods_of(documents_of(MADE[operator]), DEFAULT_SCHEDULER_NAME)
