"""What all nodes said to a class of pods that none of them takes: for plugins that tell what would help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from volcano_py.framework.views import FITS, Codes
from volcano_py.state.ledger import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


class Refused:
    """Messages of refusals, how many nodes gave each as their first, and which ones. Nodes that do not exist are left
    out; so are those that only lack room."""

    def __init__(self, ssn: Session, codes: Codes) -> None:
        """`codes` [N]"""
        self._codes = codes
        self._present = ssn.ledger.nodes.present
        self._by_name = ssn.nodes.name_rank
        self._codes_of: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}
        for code, count in zip(*np.unique(codes[self._present], return_counts=True), strict=True):
            if code != FITS:
                message = ssn.refusal_of(int(code)).message
                self._codes_of.setdefault(message, []).append(int(code))
                self._counts[message] = self._counts.get(message, 0) + int(count)

    def __contains__(self, message: object) -> bool:
        return message in self._counts

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, message: str) -> int:
        """How many nodes."""
        return self._counts.get(message, 0)

    def rows(self, *messages: str) -> Rows:
        """[K] the nodes that gave any of these messages, by name."""
        codes = [code for message in messages for code in self._codes_of.get(message, ())]
        rows = np.flatnonzero(self._present & np.isin(self._codes, codes))
        return rows[np.argsort(self._by_name[rows])]
