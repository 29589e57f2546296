"""From a module to its tests: the folder of a package has the same path below `tests/unit` as below `volcano_py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TESTS: Final = Path(__file__).parent
_PACKAGES: Final = _TESTS.parents[1] / "volcano_py"

# What is tested here and is no package of ours. Its folders are named by what they test.
_NO_PACKAGES: Final = {"docs", "e2e", "examples", "manifests", "releases"}


def test_every_package_with_modules_has_tests() -> None:
    packages = {path.parent.relative_to(_PACKAGES) for path in _PACKAGES.rglob("*.py") if path.name != "__init__.py"}
    assert packages - set(_test_folders()) == set()


def test_every_folder_of_tests_has_the_name_of_a_package_or_module() -> None:
    strangers = {
        folder.parts[0] if folder.parts[0] in _NO_PACKAGES else str(folder)
        for folder in _test_folders()
        if not (_PACKAGES / folder).is_dir() and not (_PACKAGES / folder).with_suffix(".py").is_file()
    }
    assert strangers == _NO_PACKAGES


def _test_folders() -> Iterator[Path]:
    return (path.parent.relative_to(_TESTS) for path in _TESTS.rglob("test_*.py"))
