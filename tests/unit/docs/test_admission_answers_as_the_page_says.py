"""Objects that a page says are refused are judged by the rules, and the answer shown below is the one they give."""

from __future__ import annotations

import msgspec
import pytest

from tests.unit.docs.pages import PROJECT, Block, all_blocks, blocks, yaml_documents
from volcano_py.admission import pod_groups, queues
from volcano_py.admission.queue_world import QueueFacts, QueueWorld
from volcano_py.admission.violation import denial_message
from volcano_py.api.objects import PodGroup, Queue

REFUSED = [block for block in all_blocks("yaml") if "refused" in block.marks]
API = "scheduling.volcano.sh/v1beta1"
BASE = ({"metadata": {"name": "root"}}, {"metadata": {"name": "default"}})
RULES = queues.QueueRules()


def world(objects: list[dict[str, object]]) -> QueueWorld:
    """The queues among these objects, next to root and default."""
    made = [msgspec.convert(each, Queue) for each in (*BASE, *objects)]
    return QueueWorld.of(QueueFacts.of(each) for each in made)


def beside(block: Block) -> list[dict[str, object]]:
    """The objects of the file that the mark names, on the same page."""
    wanted = block.marks["refused"]
    (found,) = (each for each in blocks(block.page) if each.marks.get("file") == wanted)
    return found.documents


def answer(document: dict[str, object], others: QueueWorld) -> str:
    if document["kind"] == "Queue":
        queue = msgspec.convert(document, Queue)
        return denial_message("queue", queue.metadata.name, queues.validate_create(queue, others, RULES))
    group = msgspec.convert(document, PodGroup)
    return denial_message("podgroup", group.metadata.name, pod_groups.validate_create(group, others, "default"))


@pytest.mark.parametrize("block", REFUSED, ids=str)
def test_the_answer_shown_is_the_answer_given(block: Block) -> None:
    (document,) = block.documents
    after = [each for each in blocks(block.page) if each.line > block.line and each.language == "text"]
    plural = f"{str(document['kind']).lower()}s"
    shown = after[0].text.strip().partition(f'webhook "{plural}.scheduling.volcano.sh" denied the request: ')[2]
    assert shown == answer(document, world(beside(block)))


def test_there_are_such_examples() -> None:
    assert len(REFUSED) >= 2


def queues_of_a_page() -> list[tuple[str, list[dict[str, object]]]]:
    """What each block, and each example, makes together."""
    found = [
        (str(block), [each for each in block.documents if isinstance(each, dict)])
        for block in all_blocks("yaml")
        if "refused" not in block.marks and "rejected" not in block.marks
    ]
    found += [
        (path.name, [each for each in yaml_documents(path.read_text()) if isinstance(each, dict)])
        for path in sorted((PROJECT / "examples").rglob("*.yaml"))
    ]
    return [(name, made) for name, objects in found if (made := [each for each in flat(objects) if is_queue(each)])]


def flat(objects: list[dict[str, object]]) -> list[dict[str, object]]:
    listed = [item for each in objects if each.get("kind") == "List" for item in each["items"]]  # type: ignore[attr-defined]
    return [*objects, *listed]


def is_queue(document: dict[str, object]) -> bool:
    return document.get("kind") == "Queue" and document.get("apiVersion") == API


@pytest.mark.parametrize(("name", "made"), queues_of_a_page(), ids=lambda each: each if isinstance(each, str) else "")
def test_every_other_queue_shown_is_admitted(name: str, made: list[dict[str, object]]) -> None:
    """In the order in which they stand there."""
    stored: list[dict[str, object]] = []
    for each in made:
        queue = msgspec.convert(each, Queue)
        found = queues.validate_create(queue, world(stored), RULES)
        assert not found, denial_message(name, queue.metadata.name, found)
        stored.append(each)
