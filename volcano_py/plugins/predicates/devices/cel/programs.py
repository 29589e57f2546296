"""Expressions of device classes and requests, ready to judge devices.

Most are `device.driver == "<name>"`, which is evaluated here. All others need the package cel-expr-python
(`engine.py`), which is loaded when the first of them turns up.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Final

import msgspec

from volcano_py.state.devices.picture import Device

MISSING_LIBRARY: Final = (
    "is not evaluated, because the package cel-expr-python is not installed; only the form"
    " device.driver == \"NAME\" is without it: pip install 'volcano-py[cel]'"
)
_SHOWN: Final = 80
"""Characters of an expression in a message."""
_DRIVER: Final = re.compile(
    r"""\s*device\s*\.\s*driver\s*==\s*(?:"(?P<double>[^"\\\n]*)"|'(?P<single>[^'\\\n]*)')\s*"""
)


class CelError(msgspec.Struct, frozen=True):
    """Why there is no verdict on a device; `message` names the expression."""

    message: str


class Program(ABC):
    """One expression."""

    @abstractmethod
    def judge(self, device: Device) -> bool | CelError:
        """Whether the expression holds for the device."""


class DriverProgram(Program):
    """`device.driver == "<name>"`"""

    def __init__(self, driver: str) -> None:
        self._driver = driver

    def judge(self, device: Device) -> bool:
        return device.driver == self._driver


class FailedProgram(Program):
    """An expression that cannot be evaluated for any device."""

    def __init__(self, error: CelError) -> None:
        self._error = error

    def judge(self, device: Device) -> CelError:  # noqa: ARG002 -- the same for all
        return self._error


# A cluster has some tens of expressions; the bound is for one that generates them.
@lru_cache(maxsize=1024)
def compile_cel(expression: str) -> Program:
    """Never raises: a program that cannot be evaluated says so of every device."""
    if match := _DRIVER.fullmatch(expression):
        return DriverProgram(match["double"] if match["double"] is not None else match["single"])
    try:
        from volcano_py.plugins.predicates.devices.cel.engine import compile_with_library
    except ImportError:
        return FailedProgram(error_of(expression, MISSING_LIBRARY))
    return compile_with_library(expression)


def error_of(expression: str, what: str) -> CelError:
    """`what` continues the sentence that begins with the expression."""
    line = " ".join(expression.split())
    shown = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
    return CelError(f"CEL expression `{shown}` {what}")
