from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from volcano_py.plugins.predicates.devices.cel import programs
from volcano_py.plugins.predicates.devices.cel.verdicts import CelError
from volcano_py.state.devices.device import Device

_ENGINE = "volcano_py.plugins.predicates.devices.cel.engine"


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    monkeypatch.delitem(sys.modules, _ENGINE, raising=False)
    programs.compile_cel.cache_clear()
    yield
    programs.compile_cel.cache_clear()


def test_importing_and_judging_drivers_does_not_load_it() -> None:
    code = (
        "import sys, volcano_py.scheduler\n"
        "from volcano_py.plugins.predicates.devices.matching import compile_cel\n"
        "compile_cel('device.driver == \"a\"')\n"
        "assert 'cel_expr_python' not in sys.modules\n"
        "compile_cel('true')\n"
        "assert 'cel_expr_python.cel' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.usefixtures("without_library")
def test_without_it_the_extra_is_named() -> None:
    assert programs.compile_cel("1 == 1").judge(Device("d", "p", "x")) == CelError(
        "CEL expression `1 == 1` is not evaluated, because the package cel-expr-python is not installed; only the form"
        " device.driver == \"NAME\" works without it: pip install 'volcano-py[cel]'"
    )


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize("expression", ['device.driver == "d"', "device.driver=='d'", '\n device.driver\t== "d" '])
def test_without_it_devices_are_selected_by_driver(expression: str) -> None:
    program = programs.compile_cel(expression)
    assert program.judge(Device("d", "p", "x")) is True
    assert program.judge(Device("e", "p", "x")) is False
