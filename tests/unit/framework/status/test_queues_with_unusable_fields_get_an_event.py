"""With a loosened CRD a queue may have any fields. Unusable ones are replaced, and the queue gets an event."""

from __future__ import annotations

import pytest

from tests.support.sessions import node, open_session, queue
from volcano_py.api.effects import Event
from volcano_py.api.objects import Queue
from volcano_py.framework.status.closing import Closing
from volcano_py.plugins.capacity import Capacity


def reported(of: Queue) -> list[tuple[str, str, str, str]]:
    opened = open_session(node("n1"), of, queue("well", capability={"cpu": "4"}), tiers=[[Capacity]])
    events = [effect for effect in Closing(opened.ssn, "1").effects() if isinstance(effect, Event)]
    return [(event.about.name, event.type, event.reason, event.message) for event in events]


@pytest.mark.parametrize(
    ("spoilt", "problem"),
    [
        (
            queue("spoilt", capability={"cpu": "lots"}),
            "spec.capability.cpu: 'lots' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3); it counts as absent",
        ),
        (
            queue("spoilt", deserved={"memory": "-1Gi"}),
            "spec.deserved.memory: -1Gi is negative; it counts as absent",
        ),
        (queue("spoilt", weight=0), "spec.weight: 0 is below 1; it counts as 1"),
    ],
    ids=["no quantity", "negative", "weight"],
)
def test_an_event_on_the_queue_says_what_cannot_be_used_and_what_counts_instead(spoilt: Queue, problem: str) -> None:
    assert reported(spoilt) == [("spoilt", "Warning", "InvalidQueue", f"queue spoilt: {problem}")]


def test_a_valid_queue_gets_no_event() -> None:
    assert reported(queue("fine", weight=2, capability={"cpu": "4"}, deserved={"cpu": "2"})) == []
