"""Which build this is."""

from __future__ import annotations

from importlib import metadata
from typing import NoReturn

import pytest

from volcano_py.observe import build


def test_the_installed_version_is_reported() -> None:
    info = build.build_info()
    assert info["version"] == metadata.version("volcano-py")
    assert info.keys() == {"version", "python", "platform"}


def test_a_checkout_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> NoReturn:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(build, "version", missing)
    assert build.build_info()["version"] == "unknown"
