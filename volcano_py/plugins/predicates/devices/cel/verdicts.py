"""What expressions say of devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import msgspec

from volcano_py.state.devices.device import Device

_SHOWN: Final = 80
"""Characters of an expression in a message."""


class CelError(msgspec.Struct, frozen=True):
    """Why there is no verdict on a device; `message` names the expression."""

    message: str


class Program(ABC):
    """One expression."""

    @abstractmethod
    def judge(self, device: Device) -> bool | CelError:
        """Whether the expression holds for the device."""


class FailedProgram(Program):
    """An expression that cannot be evaluated for any device."""

    def __init__(self, error: CelError) -> None:
        self._error = error

    def judge(self, device: Device) -> CelError:  # noqa: ARG002 -- the same for all
        return self._error


def error_of(expression: str, what: str) -> CelError:
    """`what` continues the sentence that begins with the expression."""
    line = " ".join(expression.split())
    shown = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
    return CelError(f"CEL expression `{shown}` {what}")
