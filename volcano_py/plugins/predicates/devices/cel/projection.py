"""What of a device an expression looks at: devices that agree in it get the same verdict."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Final

import msgspec

from volcano_py.state.devices.device import Device, Value

_TEXT: Final = r"""(?:"[^"\\\n]*"|'[^'\\\n]*')"""
_DEVICE: Final = re.compile(r"\bdevice\b")
# One attribute, of a domain that is written out or the driver's own. A name before `(` is a function of the map.
_ONE: Final = re.compile(
    rf"""\bdevice\s*\.\s*(?P<map>attributes|capacity)
    \s*\[\s*\??\s*(?:(?P<domain>{_TEXT})|device\s*\.\s*driver)\s*\]
    \s*(?:\.\s*\??\s*(?P<name>[A-Za-z_]\w*)\b(?!\s*\()|\[\s*\??\s*(?P<quoted>{_TEXT})\s*\])""",
    re.VERBOSE | re.ASCII,
)
_DRIVER: Final = re.compile(r"\bdevice\s*\.\s*driver\b")
_IN: Final = re.compile(r"\bin\s+device\s*\.\s*(?:attributes|capacity)\b(?!\s*[\[.])")


class Read(msgspec.Struct, frozen=True):
    """One attribute or, if `is_capacity`, one capacity. `domain` None: the driver's."""

    name: str
    domain: str | None = None
    is_capacity: bool = False

    def of(self, device: Device) -> Hashable:
        name = f"{device.driver if self.domain is None else self.domain}/{self.name}"
        return device.capacity.get(name) if self.is_capacity else _distinct(device.attributes.get(name))


class Projection(msgspec.Struct, frozen=True):
    """`sees_driver` and `sees_domains`: which driver the device has, and which domains. `sees_all`: everything."""

    reads: tuple[Read, ...] = ()
    sees_driver: bool = False
    sees_domains: bool = False
    sees_all: bool = False

    def of(self, device: Device) -> Hashable:
        if self.sees_all:
            attributes = frozenset((name, _distinct(value)) for name, value in device.attributes.items())
            return device.driver, device.is_shared, attributes, frozenset(device.capacity.items())
        values = [read.of(device) for read in self.reads]
        if self.sees_driver:
            values.append(device.driver)
        if self.sees_domains:
            values += (_domains(device.attributes), _domains(device.capacity))
        return tuple(values)


EVERYTHING: Final = Projection(sees_all=True)


def projection_of(expression: str) -> Projection:
    """`EVERYTHING` unless each use of the device is one of those that are understood."""
    ones, drivers, whole = (list(use.finditer(expression)) for use in (_ONE, _DRIVER, _IN))
    understood = {
        device.start() for use in (*ones, *drivers, *whole) for device in _DEVICE.finditer(expression, *use.span())
    }
    # A comment could be between a name and what follows it.
    if "//" in expression or understood != {device.start() for device in _DEVICE.finditer(expression)}:
        return EVERYTHING
    return Projection(tuple(dict.fromkeys(map(_read, ones))), bool(drivers), bool(whole))


def _read(use: re.Match[str]) -> Read:
    domain = use["domain"]
    return Read(use["name"] or use["quoted"][1:-1], None if domain is None else domain[1:-1], use["map"] == "capacity")


def _domains(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.partition("/")[0] for name in names)


def _distinct(value: Value | None) -> Hashable:
    """Unlike in Python, True is not 1."""
    return (value,) if isinstance(value, bool) else value
