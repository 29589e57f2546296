"""Expressions of device classes and requests, ready to judge devices.

Most are `device.driver == "<name>"`, which is evaluated here. All others need the package cel-expr-python
(`engine.py`), which is loaded when the first of them turns up.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from volcano_py.plugins.predicates.devices.cel.verdicts import FailedProgram, Program, error_of
from volcano_py.state.devices.device import Device

_MISSING_LIBRARY: Final = (
    "is not evaluated, because the package cel-expr-python is not installed; only the form"
    " device.driver == \"NAME\" works without it: pip install 'volcano-py[cel]'"
)
_DRIVER: Final = re.compile(
    r"""\s*device\s*\.\s*driver\s*==\s*(?:"(?P<double>[^"\\\n]*)"|'(?P<single>[^'\\\n]*)')\s*"""
)


class DriverProgram(Program):
    """`device.driver == "<name>"`"""

    def __init__(self, driver: str) -> None:
        self._driver = driver

    def judge(self, device: Device) -> bool:
        return device.driver == self._driver


# A cluster has some tens of expressions; the bound is for one that generates them.
@lru_cache(maxsize=1024)
def compile_cel(expression: str) -> Program:
    """Never raises: a program that cannot be evaluated says so of every device."""
    if match := _DRIVER.fullmatch(expression):
        return DriverProgram(match["double"] if match["double"] is not None else match["single"])
    try:
        from volcano_py.plugins.predicates.devices.cel.engine import compile_with_library
    except ImportError:
        return FailedProgram(error_of(expression, _MISSING_LIBRARY))
    return compile_with_library(expression)
