"""What objects may be called: the rules of the API server for names (DNS-1123)."""

from __future__ import annotations

import re
from typing import Final

LONGEST_LABEL: Final = 63
LONGEST_SUBDOMAIN: Final = 253

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*", re.ASCII)


def is_label(text: str) -> bool:
    """Whether a namespace or a container can have this name."""
    return len(text) <= LONGEST_LABEL and _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether most other objects can have this name."""
    return len(text) <= LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(text) is not None
