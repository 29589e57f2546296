"""Queues whose parents lead in a circle have no place in the tree; what waits in them is explained all the same."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import CAPACITY, DEFAULT, TREE, explained, gang, node, queue, volcano_job

CIRCLE = queue("one", "parent: two") + queue("two", "parent: one")


@pytest.mark.parametrize("conf", [DEFAULT, CAPACITY, TREE])
@pytest.mark.parametrize("cpu", ["1", "16"])
def test_a_gang_in_a_circle_is_explained(conf: str, cpu: str) -> None:
    found = explained(node() + CIRCLE + gang(2, cpu, group="queue: one"), conf)
    starts = conf != TREE and cpu == "1"
    assert found.now.state == ("Starting" if starts else "Waiting")


@pytest.mark.parametrize("conf", [DEFAULT, CAPACITY, TREE])
def test_a_job_without_pods_in_a_circle_is_explained(conf: str) -> None:
    text = volcano_job("16", 2).replace("minAvailable", "queue: one\n  minAvailable")
    assert explained(node() + CIRCLE + text, conf).now.state == "Waiting"
