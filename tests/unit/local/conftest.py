"""Fixtures of the local control plane's unit tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.local.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def answering(machine: Machine) -> Callable[[str, str], Path]:
    """Install a program on PATH that prints this text whatever it is asked."""

    def install(name: str, text: str) -> Path:
        return machine.program(name, f"/bin/cat <<'END'\n{text}\nEND")

    return install
