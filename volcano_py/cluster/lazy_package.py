"""Packages of which a few modules are needed, but whose `__init__` loads hundreds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType


def load_on_demand(package: str, homes: Mapping[str, str] | None = None) -> None:
    """Make `package` importable without running its `__init__`, unless it is loaded already.

    Its modules are loaded as they are asked for, and so are the names in `homes` (name → module in the package that
    defines it). Any other name runs the `__init__` after all, so that nothing behaves differently, only later.

    Raises:
        ModuleNotFoundError: there is no such package.
    """
    if package in sys.modules:
        return
    spec = find_spec(package)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    loader, module = spec.loader, module_from_spec(spec)

    def find(name: str) -> object:
        if name in (homes or {}):
            value: object = getattr(import_module(f"{package}.{(homes or {})[name]}"), name)
        elif name.startswith("__"):  # tools look through all modules for such names; few packages have them
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        elif find_spec(f"{package}.{name}") is not None:
            value = import_module(f"{package}.{name}")
        else:
            del module.__dict__["__getattr__"]
            loader.exec_module(module)
            return getattr(module, name)
        setattr(module, name, value)
        return value

    module.__dict__["__getattr__"] = find
    _place(package, module)


def _place(package: str, module: ModuleType) -> None:
    """As the import system does: among the modules, and as an attribute of the package around it."""
    sys.modules[package] = module
    parent, _, name = package.rpartition(".")
    if parent:
        setattr(sys.modules[parent], name, module)
