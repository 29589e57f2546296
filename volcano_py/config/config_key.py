"""Under which key a ConfigMap has the scheduler's configuration.

Volcano's chart names the key after the file that it was made of, so it need not be the usual one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from volcano_py.api.names import CONFIG_KEY

_ENDINGS: Final = (".conf", ".yaml", ".yml")
_MOST_KEYS: Final = 5  # in a message


def config_key(keys: Iterable[str]) -> str | None:
    """The usual key if there is one, else the only key, else the only one that ends in .conf, .yaml or .yml; None when
    it is not clear which."""
    found = list(keys)
    if CONFIG_KEY in found:
        return CONFIG_KEY
    for candidates in (found, [key for key in found if key.endswith(_ENDINGS)]):
        if len(candidates) == 1:
            return candidates[0]
    return None


def no_config_key(keys: Iterable[str]) -> str:
    """Why `config_key` finds none."""
    found = sorted(keys)
    if not found:
        return f"it has no key {CONFIG_KEY}"
    listed = ", ".join(found[:_MOST_KEYS]) + (", …" if len(found) > _MOST_KEYS else "")
    return f"it has no key {CONFIG_KEY}, and it is not clear which of {listed} is meant: rename that one"
