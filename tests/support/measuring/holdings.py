"""All that an object keeps alive, counted: what was to be forgotten and is not shows as growth."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import numpy as np

_SHARED = (type, ModuleType, CodeType, BuiltinFunctionType)
"""The program itself."""
_NUMBERS = (int, float, complex, type(None), np.generic)
"""Python keeps some of them forever, and it is its own affair which."""


def holdings(*roots: object, but_for: Iterable[object] = ()) -> Counter[str]:
    """How many objects of each type can be reached from the roots, other than by way of `but_for`; and the bytes of
    arrays among them.

    Of functions, only their closures count.
    """
    found: Counter[str] = Counter()
    seen = {id(each) for each in but_for}
    waiting = list(roots)
    kept = []  # so that no id is used twice
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, (*_SHARED, *_NUMBERS)):
            continue
        seen.add(id(each))
        kept.append(each)
        if isinstance(each, FunctionType):
            waiting.extend(each.__closure__ or ())
            continue
        found[f"{type(each).__module__}.{type(each).__qualname__}"] += 1
        if isinstance(each, np.ndarray):
            found["bytes of arrays"] += each.nbytes
        waiting.extend(gc.get_referents(each))
    return found
