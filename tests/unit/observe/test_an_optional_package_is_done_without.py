"""structlog loads rich where it is installed; the daemon has no use for it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from volcano_py.observe.not_installed import not_installed

PACKAGE = "colorsys"  # any small module that nothing else here needs


def test_it_cannot_be_imported_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    with not_installed(PACKAGE), pytest.raises(ImportError):
        importlib.import_module(PACKAGE)


def test_it_can_be_imported_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    with not_installed(PACKAGE):
        pass
    assert importlib.import_module(PACKAGE).rgb_to_hls(0, 0, 0) == (0.0, 0.0, 0.0)


def test_it_can_be_imported_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    with pytest.raises(RuntimeError), not_installed(PACKAGE):
        raise RuntimeError
    assert importlib.import_module(PACKAGE).rgb_to_hls(0, 0, 0) == (0.0, 0.0, 0.0)


def test_one_that_is_loaded_already_stays() -> None:
    module = importlib.import_module(PACKAGE)
    with not_installed(PACKAGE):
        assert importlib.import_module(PACKAGE) is module


def test_the_daemon_loads_no_rich_but_a_table_finds_it() -> None:
    program = (
        "import sys, volcano_py.cli.processes.run, volcano_py.observe.logs, volcano_py.daemon.daemon\n"
        "assert 'structlog' in sys.modules\n"
        "assert 'rich' not in sys.modules, 'the daemon loads rich'\n"
        "import rich.table\n"
    )
    warned = {**os.environ, "PYTHONWARNINGS": "error"}
    ended = subprocess.run([sys.executable, "-c", program], env=warned, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
