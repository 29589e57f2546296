"""A queue cannot be opened below a closed one, so the message and the remedy name the topmost of them."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import CAPACITY, DEFAULT, TREE, explained, gang, node, queue
from volcano_py.explain.model import WorkloadExplanation

HDRF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: drf, enableHierarchy: true}, {name: nodeorder}]
"""
SHUT = "state: Closed"


def below(name: str, above: str, *, by_parent: bool) -> str:
    text = queue(name, f"parent: {above}", SHUT)
    return text.replace("}", ", annotations: {volcano.sh/closed-by-parent: 'true'}}", 1) if by_parent else text


def asked(*queues: str, conf: str = DEFAULT) -> WorkloadExplanation:
    return explained(node() + "".join(queues) + gang(group="queue: speech"), conf)


@pytest.mark.parametrize("conf", [DEFAULT, CAPACITY, TREE, HDRF])
def test_the_message_and_the_remedy_open_the_queue_that_closed_the_other(conf: str) -> None:
    found = asked(queue("research", "parent: root", SHUT), below("speech", "research", by_parent=True), conf=conf)
    assert found.now.reason == "QueueClosed"
    assert "open research first (volcano-py queue open --name research)" in found.now.message
    assert [each.text for each in found.remedies] == ["open the queue research"]


def test_what_was_closed_by_hand_is_opened_after_those_above_it() -> None:
    found = asked(
        queue("org", "parent: root", SHUT),
        below("research", "org", by_parent=True),
        below("speech", "research", by_parent=False),
    )
    assert "open org first (volcano-py queue open --name org)" in found.now.message
    assert [each.text for each in found.remedies] == ["open the queues org, then speech"]


def test_a_queue_that_is_closed_alone_is_opened() -> None:
    found = asked(queue("research", "parent: root"), below("speech", "research", by_parent=False))
    assert "open it (volcano-py queue open --name speech)" in found.now.message
    assert [each.text for each in found.remedies] == ["open the queue speech"]
