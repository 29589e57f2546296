from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.examples.installation import install_all
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import builtin_registry


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example plugins are installed."""
    folder = tmp_path_factory.mktemp("site")
    install_all(folder)
    return folder


@pytest.fixture(autouse=True)
def site(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example plugins are installed, as pages that speak of them ask for; for no test but these."""
    monkeypatch.syspath_prepend(examples)


@pytest.fixture(scope="session")
def registry(examples: Path) -> Registry:
    """Ours and the examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(examples)
        return builtin_registry().with_installed()
