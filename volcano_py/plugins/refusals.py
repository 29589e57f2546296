"""Refusals of nodes, as plugins register them."""

from __future__ import annotations

from volcano_py.api.reasons import Reason
from volcano_py.framework.session import Session


def refusal_for_good(ssn: Session, message: str) -> int:
    """The code of a refusal that no eviction changes; `message` reads `node(s) were …`."""
    return ssn.refusal(Reason.NODES_REFUSE, message, resolvable=False)
