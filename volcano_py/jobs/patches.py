"""Merge patches (RFC 7386) between two states of an object."""

from __future__ import annotations

from typing import Any

import msgspec

from volcano_py.api.effects import JsonObject


def merge_patch(before: msgspec.Struct, after: msgspec.Struct) -> JsonObject:
    """What turns the one into the other; empty when nothing differs. Lists are written as a whole."""
    return _difference(msgspec.to_builtins(before), msgspec.to_builtins(after))


def _difference(before: dict[str, Any], after: dict[str, Any]) -> JsonObject:
    # In the order of the fields, so that the same change is the same patch.
    patch: JsonObject = {}
    for key, value in after.items():
        old = before.get(key)
        if old == value:
            continue
        patch[key] = _difference(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    for key in before:
        if key not in after:
            patch[key] = None
    return patch
