"""Expressions and their verdicts. What is expected follows from the CEL specification and from
https://kubernetes.io/docs/reference/using-api/cel/."""

from __future__ import annotations

import pytest

from volcano_py.plugins.predicates.devices.cel.programs import compile_cel
from volcano_py.plugins.predicates.devices.cel.verdicts import CelError
from volcano_py.state.devices.device import Device, Version

_GPU = Device(
    "gpu.example.com",
    "pool",
    "gpu-0",
    {
        "gpu.example.com/model": "A100",
        "gpu.example.com/cores": 108,
        "gpu.example.com/nvlink": True,
        "gpu.example.com/driver": Version("535.104.5"),
        "numa.example.com/node": 1,
        "net.example.com/ip": "10.1.2.3",
    },
    {"gpu.example.com/memory": "40Gi"},
)

_A = 'device.attributes["gpu.example.com"]'
_M = 'device.capacity["gpu.example.com"].memory'

_VERDICTS = {
    # drivers
    'device.driver == "gpu.example.com"': True,
    "device.driver=='gpu.example.com'": True,
    ' device . driver == "other" ': False,
    'device.driver != "gpu.example.com"': False,
    'device.driver.endsWith(".example.com")': True,
    "device.allowMultipleAllocations": False,
    # attributes
    f'{_A}.model == "A100"': True,
    f'{_A}["model"] == "A100"': True,
    f"{_A}.model in ['H100', 'A100']": True,
    f'{_A}.model.startsWith("H")': False,
    f'{_A}.model.lowerAscii().matches("^a[0-9]+$")': True,
    f"{_A}.cores >= 100 && {_A}.cores < 200": True,
    f"{_A}.nvlink": True,
    f"!{_A}.nvlink || {_A}.cores > 200": False,
    f"{_A}.cores == 108.0 && {_A}.cores < 108.5": True,
    f"{_A}.nvlink == 1": False,
    f'{_A}.model == 5 || {_A}.model == "A100"': True,
    "1 == 1.0 && 1.5 > 1": True,
    'device.attributes[device.driver].model == "A100"': True,
    'device.attributes["numa.example.com"].node == 1': True,
    'device.attributes.exists(domain, domain.startsWith("numa."))': True,
    # what a device lacks
    '"net.example.com" in device.attributes': True,
    '"absent.example.com" in device.attributes': False,
    '!("absent.example.com" in device.attributes) && !has(device.attributes["absent.example.com"].speed)': True,
    "has(device.attributes['absent.example.com'].speed)": False,
    f"has({_A}.model) && !has({_A}.speed)": True,
    f'{_A}.?speed.orValue("slow") == "slow"': True,
    'device.attributes[?"absent.example.com"].?speed.orValue(7) == 7': True,
    '"absent.example.com" in device.attributes && device.attributes["absent.example.com"].speed > 1': False,
    f"{_A}.speed > 1 || {_A}.cores > 1": True,
    f"{_A}.speed > 1 && {_A}.cores < 1": False,
    'device.capacity["absent.example.com"].size() == 0': True,
    'cel.bind(a, device.attributes["gpu.example.com"], a.nvlink && a.cores > 1)': True,
    '"device.attributes[" + "x" == "device.attributes[x"': True,
    f"has({_A}.model) // device.attributes['x'].y": True,
    # quantities
    f'{_M}.compareTo(quantity("40Gi")) >= 0': True,
    f'{_M}.isGreaterThan(quantity("40G"))': True,
    f'{_M}.isLessThan(quantity("40960Mi"))': False,
    f'{_M} == quantity("40960Mi")': True,
    f'{_M}.sub(quantity("1Gi")).add(1073741824) == {_M}': True,
    f"{_M}.asInteger() == 42949672960 && {_M}.isInteger() && {_M}.sign() == 1": True,
    'quantity("0.5").asApproximateFloat() == 0.5 && !quantity("0.5").isInteger()': True,
    'isQuantity("1.3Gi") && !isQuantity("200K") && !isQuantity(" 1") && !isQuantity("")': True,
    'quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")': True,
    'quantity("9999999999999999999999G").isInteger()': False,
    # versions
    f'{_A}.driver.isLessThan(semver("535.104.10"))': True,
    f'{_A}.driver.compareTo(semver("535.104.5+build.7")) == 0': True,
    f"{_A}.driver.major() == 535 && {_A}.driver.minor() == 104 && {_A}.driver.patch() == 5": True,
    'semver("1.0.0-rc.2").isLessThan(semver("1.0.0-rc.10"))': True,
    'semver("1.0.0").isGreaterThan(semver("1.0.0-rc.1")) && semver("1.0.0-1").isLessThan(semver("1.0.0-a"))': True,
    'semver("1.0.0-rc").isLessThan(semver("1.0.0-rc.1"))': True,
    'semver("v1.100", true) == semver("1.100.0") && semver("01.02.3", true).minor() == 2': True,
    'isSemver("1.2.3") && !isSemver("v1.2.3") && !isSemver("1.02.3") && isSemver("v1.2", true)': True,
    'isSemver("1.2-rc", true) || isSemver("1.2.3-01") || isSemver("99999999999999999999.0.0")': False,
    # text, lists, sets
    f'{_A}.model.find("[0-9]+") == "100" && {_A}.model.find("x") == ""': True,
    '"a1b22c333".findAll("[0-9]+") == ["1", "22", "333"] && "a1b22".findAll("[0-9]+", 1) == ["1"]': True,
    '"baac".findAll("a*") == ["", "aa", ""]': True,
    '"a,b".split(",").join("-") == "a-b" && "%s-%d".format(["x", 1]) == "x-1"': True,
    "[1, 2, 3].sum() == 6 && [3, 1].min() == 1 && [1.5, 2].max() == 2.0 && [1, 2, 2].isSorted()": True,
    '["a", "b", "a"].indexOf("a") == 0 && ["a", "b", "a"].lastIndexOf("a") == 2 && ["a"].indexOf("c") == -1': True,
    "[true].indexOf(1) == -1 && [1].indexOf(1.0) == 0 && [[1, 2]].indexOf([1, 2]) == 0": True,
    'sets.contains(["A100", "H100"], [' + _A + ".model])": True,
    "sets.intersects([1], [2]) || sets.equivalent([1], [1, 2])": False,
    "sets.equivalent([1, 1], [1.0]) && !sets.contains([1], [true])": True,
    # addresses
    'cidr("10.0.0.0/8").containsIP(device.attributes["net.example.com"].ip)': True,
    'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("10.0.0.0/8").containsCIDR(cidr("::/8"))': True,
    'cidr("10.0.0.1/8").ip() == ip("10.0.0.1") && cidr("10.0.0.1/8").masked() == cidr("10.0.0.0/8")': True,
    'cidr("fd00::/8").prefixLength() == 8 && ip("fd00::1").family() == 6': True,
    'cidr("fd00::/8").containsCIDR("fd00::/16") && cidr("10.0.0.0/8").containsIP(ip("10.0.0.1"))': True,
    'ip("127.0.0.1").isLoopback() && ip("10.0.0.1").isGlobalUnicast() && ip("::").isUnspecified()': True,
    'ip("169.254.0.1").isLinkLocalUnicast() && ip("224.0.0.9").isLinkLocalMulticast()': True,
    'ip("255.255.255.255").isGlobalUnicast() || ip("ff02::1").isGlobalUnicast()': False,
    'ip("ff02::1").isLinkLocalMulticast() && !ip("ff05::1").isLinkLocalMulticast()': True,
    'isIP("::ffff:1.2.3.4") || isIP("fe80::1%eth0") || isIP("1.2.3")': False,
    'isCIDR("1.2.3.4") || isCIDR("1.0.0.0/08") || isCIDR("1.0.0.0/33")': False,
    'ip.isCanonical("::1") && !ip.isCanonical("0:0:0:0:0:0:0:1")': True,
}

_ERRORS = {
    f"{_A}.speed > 1": 'fails: the device has no "speed"; begin with has(….speed) && to leave such devices out',
    'device.attributes["absent.example.com"].speed > 1': (
        'fails: the device has no "speed"; begin with has(….speed) && to leave such devices out'
    ),
    f"{_A}.cores": "is of type int; true or false is needed",
    f"{_A}.model > 5": "fails: No matching overloads found : _>_(string, int64)",
    "1 / 0 == 1": "fails: divide by zero",
    'quantity("40GB").sign() == 1': "fails: '40GB' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)",
    'quantity("1").compareTo(semver("1.0.0")) == 0': "fails: this is no quantity: {'semver': '1.0.0'}",
    'quantity("0.5").asInteger() == 0': "fails: 1/2 is not a whole number of 64 bits",
    'semver("1.2").major() == 1': "fails: '1.2' is not a semantic version (an example: 1.2.3)",
    'semver("1.2-a", true).major() == 1': (
        "fails: '1.2-a' is not a semantic version: only one with a patch number can have a suffix"
    ),
    "[].min() == 1": "fails: an empty list has no smallest and no greatest item",
    '[1, "a"].max() == 1': "fails: [1, 'a'] cannot be compared",
    '["a"].sum() == 1': "fails: ['a'] are not numbers",
    '"aaa".find("(a+)+") == "a"': "fails: find() and findAll() do not support this part of a pattern: '+'",
    '"aaa".find("a*b*c*d*") == "a"': "fails: find() and findAll() support 3 quantifiers in a pattern, not 4",
    '"aaa".find("(a") == "a"': ("fails: '(a' is not a pattern: missing ), unterminated subpattern at position 0"),
    f'"{"a" * 65}".find("a") == "a"': "fails: find() and findAll() search texts of one line and 64 characters",
    'ip("1.2.3.4.5").family() == 4': "fails: '1.2.3.4.5' does not appear to be an IPv4 or IPv6 address",
    'cidr("10.0.0.0").prefixLength() == 8': "fails: '10.0.0.0' is not a network (an example: 192.168.0.0/24)",
    'url("https://a").getHost() == "a"': "fails: No matching overloads found : url(string)",
    '{"a": 1}.all(k, v, v == 1)': 'fails: No value with name "k" found in Activation',
    f"size('{'x' * 10240}') > 1": "has more than 10240 bytes",
}


@pytest.mark.parametrize(("expression", "expected"), _VERDICTS.items())
def test_an_expression_has_a_verdict(expression: str, expected: bool) -> None:
    assert compile_cel(expression).judge(_GPU) is expected


@pytest.mark.parametrize(("expression", "expected"), _ERRORS.items())
def test_what_cannot_be_decided_is_an_error_with_the_reason(expression: str, expected: str) -> None:
    error = compile_cel(expression).judge(_GPU)
    assert isinstance(error, CelError)
    assert error.message.startswith("CEL expression `")
    assert error.message.rpartition("` ")[2] == expected


@pytest.mark.parametrize(
    "expression", ["true &&", "'", "", "+".join("1" * 60) + " == 60", "(" * 40 + "true" + ")" * 40]
)
def test_what_cannot_be_compiled_is_an_error(expression: str) -> None:
    error = compile_cel(expression).judge(_GPU)
    assert isinstance(error, CelError)
    assert "` cannot be compiled: " in error.message


def test_a_long_chain_is_evaluated() -> None:
    assert compile_cel(" && ".join(['device.driver != "x"'] * 250)).judge(_GPU) is True


@pytest.mark.parametrize(
    "failing",
    [
        'quantity("x") == quantity("y")',
        'isQuantity("1") == quantity("x").isInteger()',
        '"a".find("(") == "a"',
        "1 / 0 == 1",
    ],
)
def test_an_error_does_not_matter_where_the_other_side_decides(failing: str) -> None:
    assert compile_cel(f"{failing} || true").judge(_GPU) is True
    assert compile_cel(f"{failing} && false").judge(_GPU) is False


def test_a_version_that_is_none_is_an_error() -> None:
    error = compile_cel("1 == 1").judge(Device("d", "p", "x", {"d/version": Version("new")}))
    assert error == CelError(
        "CEL expression `1 == 1` cannot be evaluated: 'new' is not a semantic version (an example: 1.2.3)"
    )


def test_a_message_shows_the_beginning_of_a_long_expression_in_one_line() -> None:
    error = compile_cel("device.nothing ==\n  " + "1 + " * 25 + "1").judge(_GPU)
    assert isinstance(error, CelError)
    assert error.message.startswith("CEL expression `device.nothing == 1 + 1 + ")
    assert len(error.message.partition("` ")[0]) == len("CEL expression `") + 80
    assert "…` " in error.message
