"""Logins in addresses (`https://name:password@host`), which stand in a configuration and are shown nowhere."""

from __future__ import annotations

import re
from typing import Final

_LOGIN: Final = re.compile(r"//[^\s\"]*@")
"""Up to the last @: a password may have characters in it that a URL may not."""


def without_login(text: str, instead: str = "") -> str:
    """The text without what stands between `//` and the host in addresses; `instead`, with its @, is put there."""
    return _LOGIN.sub(f"//{instead}", text)
