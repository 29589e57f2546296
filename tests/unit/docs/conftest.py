from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.registries import checked_registry
from tests.unit.examples.installation import install_all
from volcano_py.framework.registry import Registry


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example plugins are installed."""
    folder = tmp_path_factory.mktemp("site")
    install_all(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def site(examples: Path) -> Iterator[None]:
    """The example plugins are installed, as pages that speak of them ask for; for no test but these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(examples)
        yield


@pytest.fixture(scope="module")
def registry(site: None) -> Registry:
    """Ours and the examples."""
    return checked_registry().with_installed()
