"""`--load tenants` protects its API server with the objects that the guide gives to administrators."""

from __future__ import annotations

from typing import Any

import yaml

from tests.unit.docs.pages import PROJECT, blocks
from volcano_py.bench.priority import PRIORITY


def by_name(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(objects, key=lambda each: (each["kind"], each["metadata"]["name"]))


def test_the_benchmark_applies_the_objects_of_the_guide() -> None:
    page = PROJECT / "docs" / "guide" / "operate.md"
    [block] = [block for block in blocks(page) if "PriorityLevelConfiguration" in block.text]
    assert by_name(list(yaml.safe_load_all(block.text))) == by_name(list(PRIORITY))
