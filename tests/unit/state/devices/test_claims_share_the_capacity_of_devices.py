"""How much of a device's capacity a claim takes, and what is counted of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from volcano_py.state.devices.device import Device, Policy
from volcano_py.state.devices.shares import Capacity, Shares, consumption, read_consumed, written

_GI = Fraction(2**30)


def _device(policy: Policy | None = None, value: str = "40Gi", name: str = "d/memory", **more: str) -> Device:
    capacity = {name: value} | {f"d/{other}": amount for other, amount in more.items()}
    return Device("d", "p", "x", capacity=capacity, policies={} if policy is None else {name: policy}, is_shared=True)


_STEPS = Policy(default=2 * _GI, least=_GI, most=9 * _GI, step=2 * _GI)
_VALUES = Policy(default=_GI, values=(_GI, 4 * _GI, 16 * _GI))


@pytest.mark.parametrize(
    ("policy", "asked", "taken"),
    [
        pytest.param(None, "4Gi", 4, id="no policy"),
        pytest.param(None, None, 40, id="no policy and nothing asked"),
        pytest.param(None, "41Gi", None, id="more than there is"),
        pytest.param(_STEPS, "4Gi", 5, id="in steps"),
        pytest.param(_STEPS, "5Gi", 5, id="a step"),
        pytest.param(_STEPS, "1Mi", 1, id="below the least"),
        pytest.param(_STEPS, "10Gi", None, id="above the most"),
        pytest.param(_STEPS, None, 2, id="the default"),
        pytest.param(_VALUES, "3Gi", 4, id="the next value"),
        pytest.param(_VALUES, "17Gi", None, id="above all values"),
        pytest.param(Policy(), "3Gi", 3, id="any amount"),
        pytest.param(Policy(), None, 40, id="no default"),
        pytest.param(None, "-1", None, id="less than nothing"),
    ],
)
def test_what_is_taken_follows_the_policy(policy: Policy | None, asked: str | None, taken: int | None) -> None:
    capacity: Capacity = () if asked is None else (("memory", asked),)
    assert consumption(_device(policy), capacity) == (None if taken is None else {"d/memory": taken * _GI})


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ((("memory", "1"), ("slots", "1")), True),
        ((("d/memory", "1"),), True),
        ((("other.org/memory", "1"),), False),
        ((("lanes", "1"),), False),
        ((("d/memory", "1"), ("memory", "1")), False),
    ],
    ids=["both", "with its domain", "another domain", "not there", "twice"],
)
def test_a_device_needs_each_capacity_that_is_asked_for(asked: Capacity, fits: bool) -> None:
    assert (consumption(_device(slots="4"), asked) is not None) is fits


def test_every_capacity_is_taken_whole_of_which_nothing_is_asked() -> None:
    assert consumption(_device(slots="4"), (("memory", "1Gi"),)) == {"d/memory": _GI, "d/slots": 4}


def test_eight_claims_of_five_fit_into_forty_and_a_ninth_does_not() -> None:
    device = _device(_STEPS)
    shares = Shares((Device("d", "p", "alone", capacity={"d/memory": "1Gi"}), device))
    taken = shares.taken(1, consumption(device, (("memory", "4Gi"),)) or {})
    assert (shares.positions, 0 in shares, 1 in shares) == ([1], False, True)
    assert [*taken] == [0]
    assert shares.value[0] // taken[0] == 8
    assert shares.whole(1) == {0: shares.value[0]}
    assert shares.whole(0) == {}


def test_columns_of_several_devices_follow_each_other() -> None:
    shares = Shares((_device(slots="4"), _device(value="7E"), _device(value="2")))
    amounts = [shares.taken(at, {"d/memory": Fraction(1), "d/slots": Fraction(1, 2)}) for at in range(3)]
    assert [sorted(each) for each in amounts] == [[0, 1], [2], [3]]
    assert (shares.value[1], amounts[0][1]) == (4 * 10**9, 10**9 // 2), "in billionths"
    assert (shares.value[2], amounts[1][2]) == (7 * 10**12, 1), "rounded up"


def test_more_than_there_is_counts_as_more_than_there_is() -> None:
    shares = Shares((_device(value="2"),))
    assert shares.taken(0, {"d/memory": Fraction(10**30)}) == {0: shares.value[0] + 1}


def test_amounts_are_written_and_read_as_quantities() -> None:
    assert [written(each) for each in (5 * _GI, Fraction(1, 2), Fraction(3000), Fraction(0))] == [
        "5Gi",
        "500m",
        "3k",
        "0",
    ]
    assert read_consumed("d", {"memory": "5Gi", "x.org/slots": "500m"}) == {
        "d/memory": 5 * _GI,
        "x.org/slots": Fraction(1, 2),
    }
