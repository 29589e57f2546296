from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.examples.installation import install_all
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import builtin_registry


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example plugins are installed, as pages that speak of them ask for."""
    folder = tmp_path / "site"
    folder.mkdir()
    install_all(folder)
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def registry(site: None) -> Registry:
    """Ours and the examples."""
    return builtin_registry().with_installed()
