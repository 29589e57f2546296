"""Amounts in messages, tables and drawings are short, and never so short that two of them read the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.quantity import parse_quantity
from volcano_py.api.wording.amounts import amount, amounts, number, numbers

CPU = 1000
MI, GI = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 8 * CPU, "8 cpu"),
        ("cpu", 3500, "3.5 cpu"),
        ("cpu", 250, "0.25 cpu"),
        ("cpu", 1, "0.001 cpu"),
        ("cpu", 0, "0 cpu"),
        ("cpu", 10 * CPU, "10 cpu"),
        ("cpu", -1500, "-1.5 cpu"),
        ("memory", 64 * GI, "64Gi memory"),
        ("memory", 1536 * MI, "1.5Gi memory"),
        ("memory", 16383 * MI, "16383Mi memory"),
        ("memory", 64 * GI + 1, "64Gi memory"),
        ("memory", 10**11, "93.13Gi memory"),
        ("memory", 512, "512 memory"),
        ("memory", 0, "0 memory"),
        ("memory", -2 * GI, "-2Gi memory"),
        ("ephemeral-storage", 10 * GI, "10Gi ephemeral-storage"),
        ("hugepages-2Mi", 512 * MI, "512Mi hugepages-2Mi"),
        ("nvidia.com/gpu", 4, "4 nvidia.com/gpu"),
        ("pods", 1, "1 pod"),
        ("pods", 3, "3 pods"),
    ],
)
def test_amounts_read_as_people_write_them(resource: str, value: int, text: str) -> None:
    assert amount(resource, value) == text


def test_a_list_of_amounts_starts_with_cpu_and_memory_and_leaves_zeros_out() -> None:
    values = {"nvidia.com/gpu": 4, "pods": 0, "memory": 64 * GI, "cpu": 8 * CPU}
    assert amounts(values) == "8 cpu, 64Gi memory, 4 nvidia.com/gpu"
    assert amounts({"cpu": 0}) == "nothing"


def test_amounts_that_differ_never_read_the_same() -> None:
    assert numbers("memory", 64 * GI, 64 * GI + 1) == ("64Gi", "68719476737")
    assert numbers("memory", 64 * GI, 64 * GI) == ("64Gi", "64Gi")


@given(st.integers(min_value=0, max_value=2**50))
def test_the_rounding_of_bytes_stays_within_a_hundredth_of_the_unit_shown(value: int) -> None:
    reported = parse_quantity(number("memory", value))
    unit = 1
    while unit * 1024 <= value:
        unit *= 1024
    assert abs(reported - value) * 200 <= unit
