"""The header of a flow's probe: what may be sent to pods.

Tenants choose its name and value. HTTP clients do not all check names: with a colon in it, a name is another header.
"""

from __future__ import annotations

import re
from typing import Final

from volcano_py.api.wording.explain import cut

_NAME: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2: a token
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # RFC 9110, 5.5
_FRAMING: Final = frozenset({"content-length", "transfer-encoding", "trailer"})
"""They say where a request ends, which is for its sender to say."""


def header_problem(name: str, value: str) -> str:
    """What is wrong with the header, as the end of a sentence; empty when nothing is."""
    shown = cut(repr(name))
    if not _NAME.fullmatch(name):
        return f"{shown}, which is not the name of a header"
    if name.lower() in _FRAMING:
        return f"{shown}, which a request without a body may not have"
    if _CONTROL.search(value):
        return f"{shown}, whose value has a control character"
    return ""
