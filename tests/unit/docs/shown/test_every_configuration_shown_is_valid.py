"""Blocks of YAML that are a volcano-scheduler.conf, bare or in a ConfigMap."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.docs.pages import Block, all_blocks
from volcano_py.api.names import CONFIG_KEY
from volcano_py.config import format_problems, parse_configuration
from volcano_py.framework.registry import Registry


def configurations() -> list[tuple[Block, str]]:
    found: list[tuple[Block, str]] = []
    for block in all_blocks("yaml"):
        if "rejected" in block.marks:
            found.append((block, block.text))
            continue
        for document in block.documents:
            text = configuration_in(document, block.text)
            if text is not None:
                found.append((block, text))
    return found


def configuration_in(document: Any, text: str) -> str | None:
    if not isinstance(document, dict):
        return None
    if {"actions", "tiers"} & document.keys():
        return text
    data = document.get("data") if document.get("kind") == "ConfigMap" else None
    inner: str | None = (data or {}).get(CONFIG_KEY)
    return inner


ALL = [pytest.param(block, text, id=str(block)) for block, text in configurations()]
VALID = [case for case in ALL if "rejected" not in case.values[0].marks]  # type: ignore[union-attr]
REJECTED = [case for case in ALL if "rejected" in case.values[0].marks]  # type: ignore[union-attr]


@pytest.mark.parametrize(("block", "text"), VALID)
def test_it_is_read_without_a_remark(block: Block, text: str, registry: Registry) -> None:
    parsed = parse_configuration(text, registry.catalogue(), strict=True)
    assert not parsed.problems, format_problems(parsed.problems, text, source=str(block))


@pytest.mark.parametrize(("block", "text"), REJECTED)
def test_an_example_of_an_invalid_one_is_invalid(block: Block, text: str, registry: Registry) -> None:
    assert parse_configuration(text, registry.catalogue()).config is None, str(block)


def test_there_are_examples_of_both() -> None:
    assert len(VALID) > 5
    assert REJECTED
