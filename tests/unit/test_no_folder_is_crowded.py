"""A folder answers one question, and has fifteen modules at most. See docs/architecture.md ("Layers")."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

import volcano_py

_PROJECT: Final = Path(volcano_py.__file__).parents[1]
_MOST: Final = 15


@pytest.mark.parametrize("root", ["volcano_py", "tests", "e2e", "benchmarks"])
def test_no_folder_has_more_than_fifteen_modules_side_by_side(root: str) -> None:
    assert _crowded(_PROJECT / root) == {}


def test_a_crowded_folder_is_found(tmp_path: Path) -> None:
    for number in range(_MOST + 1):
        (tmp_path / f"module_{number}.py").touch()
    (tmp_path / "__init__.py").touch()
    assert _crowded(tmp_path) == {".": _MOST + 1}


@pytest.mark.parametrize("modules", [0, _MOST])
def test_a_folder_with_fifteen_modules_and_its_init_is_not_crowded(modules: int, tmp_path: Path) -> None:
    for number in range(modules):
        (tmp_path / f"module_{number}.py").touch()
    (tmp_path / "__init__.py").touch()
    assert _crowded(tmp_path) == {}


def _crowded(root: Path) -> dict[str, int]:
    """Folder → its modules, where there are too many. `__init__.py` does not count: it says what the folder is."""
    modules = Counter(str(path.parent.relative_to(root)) for path in root.rglob("*.py") if path.name != "__init__.py")
    return {folder: count for folder, count in modules.items() if count > _MOST}
