"""CRDs, manifests and examples: in an installed package, or in the repository next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano_py.shipped import shipped, shown


def test_a_checkout_has_them_next_to_the_package() -> None:
    project = Path(__file__).resolve().parents[2]
    for folder in ("crds", "manifests", "examples"):
        assert shipped(folder).samefile(project / folder)


def test_an_installed_package_has_them_inside(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "volcano_py"
    (package / "_data" / "manifests").mkdir(parents=True)
    (tmp_path / "site-packages" / "manifests").mkdir()
    assert shipped("manifests", package) == package / "_data" / "manifests"


def test_paths_are_shown_as_one_would_type_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "examples" / "sample") == "examples/sample"
    assert shown(tmp_path / "with blank") == "'with blank'"
    assert shown(Path("/elsewhere/sample")) == "/elsewhere/sample"
