"""Devices that agree in what an expression looks at get one verdict, so it must not look at more than is known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from volcano_py.plugins.predicates.devices.cel.programs import compile_cel
from volcano_py.plugins.predicates.devices.cel.projection import EVERYTHING, Projection, Read, projection_of
from volcano_py.state.devices.device import Device, Value, Version


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "x"', Projection(sees_driver=True)),
        ('device.attributes["d"].model == "x"', Projection((Read("model", "d"),))),
        ("has(device.attributes['d'].?model)", Projection((Read("model", "d"),))),
        ('device.attributes[?"d"]["model"] == "x"', Projection((Read("model", "d"),))),
        ("device.attributes[device.driver].a", Projection((Read("a"),), sees_driver=True)),
        ('device.capacity["d"].memory.sign() == 1', Projection((Read("memory", "d", is_capacity=True),))),
        ('"d" in device.attributes', Projection(sees_domains=True)),
        ('"d" in device.attributes && device.attributes["d"].a', Projection((Read("a", "d"),), sees_domains=True)),
        ("true", Projection()),
    ],
)
def test_attributes_that_are_written_out_are_all_that_it_sees(expression: str, expected: Projection) -> None:
    assert projection_of(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "device.attributes.exists(d, d == 'x')",
        'device.attributes["d"].exists(name, name == "x")',
        'device.attributes["d"].size() == 1',
        '"model" in device.attributes["d"]',
        'device.attributes["d" + "e"].model == "x"',
        'device.attributes["d"]["mo" + "del"] == "x"',
        r'device.attributes["\x64"].model == "x"',
        'cel.bind(all, device.attributes["d"], all.model == "x")',
        "dyn(device).driver == 'x'",
        'device["driver"] == "x"',
        "size(device.attributes) == 1",
        '"d" in device.attributes // all of it\n["d"]',
    ],
)
def test_any_other_use_of_the_device_sees_everything(expression: str) -> None:
    assert projection_of(expression) == EVERYTHING


_VALUES = st.sampled_from([0, 1, True, False, "1", Version("1.0.0"), "1.0.0"])
_DEVICES = st.builds(
    lambda driver, attributes, capacity: Device(driver, "p", "x", attributes, capacity),
    st.sampled_from(["d", "e"]),
    st.dictionaries(st.sampled_from(["d/a", "d/b", "e/a"]), _VALUES, max_size=3),
    st.dictionaries(st.sampled_from(["d/a", "e/a"]), st.sampled_from(["1", "1000m", "2"]), max_size=2),
)
_TERMS = st.sampled_from(
    [
        'device.driver == "d"',
        'device.attributes["d"].a == 1',
        "device.attributes['d'].a == true",
        'has(device.attributes["e"].a)',
        'device.attributes["d"].?b.orValue(1) == 1',
        "device.attributes[device.driver].a == '1'",
        'device.capacity["d"].a == quantity("1")',
        '"e" in device.attributes',
        '"e" in device.capacity ? device.capacity["e"].a.isLessThan(quantity("2")) : device.attributes["d"].b == 0',
        'device.attributes["d"].exists(name, name == "b")',
        "device.attributes.all(domain, domain == 'd')",
        "device.attributes['d'].a == semver('1.0.0')",
    ]
)


@given(st.lists(_TERMS, min_size=1, max_size=3), st.sampled_from([" && ", " || "]), _DEVICES, _DEVICES)
@settings(max_examples=400, deadline=None)
def test_devices_with_one_projection_have_one_verdict(
    terms: list[str], between: str, one: Device, other: Device
) -> None:
    expression = between.join(terms)
    projection = projection_of(expression)
    if projection.of(one) == projection.of(other):
        assert compile_cel(expression).judge(one) == compile_cel(expression).judge(other)


def test_values_of_different_types_are_different() -> None:
    def seen(value: Value) -> object:
        return Projection((Read("a", "d"),)).of(Device("d", "p", "x", {"d/a": value}))

    assert len({seen(1), seen(True), seen("1"), seen(Version("1"))}) == 4
    whole = [EVERYTHING.of(Device("d", "p", "x", {"d/a": value})) for value in (1, True)]
    assert whole[0] != whole[1]
