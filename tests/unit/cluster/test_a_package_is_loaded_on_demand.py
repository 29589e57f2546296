"""A package with a heavy `__init__` of which a few modules are needed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from volcano_py.cluster.lazy_package import load_on_demand

PACKAGE = "heavy_package"


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`__init__` loads everything; `light` is alone."""
    (tmp_path / PACKAGE).mkdir()
    for name, text in {
        "__init__": "from heavy_package.light import Light\nfrom heavy_package.models import Pod",
        "light": "class Light: ...",
        "models": "class Pod: ...",
    }.items():
        (tmp_path / PACKAGE / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def loaded() -> set[str]:
    return {name for name in sys.modules if name.split(".")[0] == PACKAGE}


def test_at_first_nothing_of_it_is_loaded(heavy: Path) -> None:
    load_on_demand(PACKAGE)
    assert loaded() == {PACKAGE}
    assert importlib.import_module(PACKAGE) is sys.modules[PACKAGE]


def test_a_module_is_loaded_alone(heavy: Path) -> None:
    load_on_demand(PACKAGE)
    light = importlib.import_module(f"{PACKAGE}.light")
    assert light.Light.__name__ == "Light"
    assert loaded() == {PACKAGE, f"{PACKAGE}.light"}


def test_a_module_is_an_attribute_too(heavy: Path) -> None:
    load_on_demand(PACKAGE)
    package: Any = importlib.import_module(PACKAGE)
    assert package.light.Light.__name__ == "Light"
    assert loaded() == {PACKAGE, f"{PACKAGE}.light"}


def test_a_name_with_a_home_loads_that_module(heavy: Path) -> None:
    load_on_demand(PACKAGE, {"Light": "light"})
    package: Any = importlib.import_module(PACKAGE)
    assert package.Light is package.light.Light
    assert loaded() == {PACKAGE, f"{PACKAGE}.light"}


def test_any_other_name_loads_it_whole(heavy: Path) -> None:
    load_on_demand(PACKAGE, {"Light": "light"})
    package: Any = importlib.import_module(PACKAGE)
    light = package.Light
    assert package.Pod.__name__ == "Pod"
    assert loaded() == {PACKAGE, f"{PACKAGE}.light", f"{PACKAGE}.models"}
    assert package.Light is light


def test_a_name_that_it_does_not_have_is_missing_as_ever(heavy: Path) -> None:
    load_on_demand(PACKAGE)
    package: Any = importlib.import_module(PACKAGE)
    with pytest.raises(AttributeError, match="no attribute 'Node'"):
        _ = package.Node
    with pytest.raises(ImportError, match="cannot import name 'Node'"):
        exec(f"from {PACKAGE} import Node", {})


def test_tools_that_look_through_all_modules_do_not_load_it(heavy: Path) -> None:
    load_on_demand(PACKAGE)
    assert not hasattr(sys.modules[PACKAGE], "__warningregistry__")
    assert loaded() == {PACKAGE}


def test_what_is_loaded_already_stays_as_it_is(heavy: Path) -> None:
    package: Any = importlib.import_module(PACKAGE)
    load_on_demand(PACKAGE)
    assert importlib.import_module(PACKAGE) is package
    assert package.Pod.__name__ == "Pod"


def test_a_package_within_one_is_its_attribute(heavy: Path) -> None:
    inner = heavy / PACKAGE / "inner"
    inner.mkdir()
    (inner / "__init__.py").write_text("import heavy_package.models")
    load_on_demand(PACKAGE)
    load_on_demand(f"{PACKAGE}.inner")
    package: Any = importlib.import_module(PACKAGE)
    assert package.inner is sys.modules[f"{PACKAGE}.inner"]
    assert loaded() == {PACKAGE, f"{PACKAGE}.inner"}


def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        load_on_demand("no_such_package")
