"""GPUs of Volcano's older device plugin: their numbers as nodes and pods have them."""

from __future__ import annotations

import pytest

from volcano_py.api.annotations.gpu_index import cards_by_number, read_indexes
from volcano_py.api.annotations.of_nodes import unreadable_of_node
from volcano_py.api.objects import ObjectMeta

UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"


def test_gpus_of_a_node_have_equal_parts_of_its_memory() -> None:
    cards = cards_by_number(3, 32001, frozenset({1, 7}))
    assert [(card.uuid, card.key, card.memory) for card in cards] == [("0", 0, 10667), ("2", 2, 10667)]


@pytest.mark.parametrize("number", [0, 129, 2**60])
def test_no_gpus_and_too_many_are_none(number: int) -> None:
    assert cards_by_number(number, 16000, frozenset()) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("0", [0]),
        ("1, 0", [1, 0]),
        ("2,2,2", [2]),
        ("x,1,-1,1.5,,٣,999999999999,128", [1]),
        ("1," * 100_000, [1]),
    ],
)
def test_what_is_no_number_of_a_gpu_is_left_out(text: str, found: list[int]) -> None:
    assert read_indexes(text) == found


@pytest.mark.parametrize(
    ("text", "is_wrong"), [("", False), ("0", False), ("0, 2", False), ("0,x", True), ("-1", True)]
)
def test_a_list_of_unhealthy_gpus_that_cannot_be_read_is_reported(text: str, is_wrong: bool) -> None:
    found = unreadable_of_node(ObjectMeta(name="n1", annotations={UNHEALTHY: text}))
    assert bool(found) is is_wrong
    for each in found:
        assert each.message == (
            f"annotation {UNHEALTHY} is {text!r}: write the numbers of GPUs from 0 on with commas between them, such "
            "as 0,2; until then only what is such a number counts"
        )
