"""What nodes say to a pod whatever is free on their cards, worked out once for all pods that ask for the same."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes
from volcano_py.plugins.deviceshare import wording
from volcano_py.plugins.deviceshare.choice import Lack, Shelf, place
from volcano_py.plugins.deviceshare.mig import MigShelf
from volcano_py.plugins.deviceshare.node_cards import CardMask, NodeCards
from volcano_py.state.cards.asked import CardsAsked


class Wishes:
    """For the classes of one cycle."""

    def __init__(self, ssn: Session, cards: NodeCards) -> None:
        self._ssn, self._cards = ssn, cards
        self._wanted: dict[tuple[object, ...], CardMask] = {}
        self._codes: dict[tuple[object, ...], Codes] = {}

    def wanted(self, asked: CardsAsked) -> CardMask:
        """[N, C] cards that the pod may use."""
        found = self._wanted.get(asked.wishes)
        if found is None:
            found = self._wanted[asked.wishes] = self._cards.wanted(asked)
        return found

    def codes(self, asked: CardsAsked) -> Codes:
        """[N] refusals of nodes on which such a pod would not fit if they were empty."""
        key = (asked.containers, *asked.wishes)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = self._judge(asked)
        return found

    def _judge(self, asked: CardsAsked) -> Codes:
        cards, wanted = self._cards, self.wanted(asked)
        lacks = self._lacks_of_empty(asked)
        most = max(container.cards for container in asked.containers)
        reasons = [
            ~cards.exists.any(axis=1),
            cards.is_unknown_mig.any(axis=1) & ~wanted.any(axis=1),
            cards.exists.sum(axis=1) < most,
            wanted.sum(axis=1) < most,
            lacks == Lack.INSTANCE,
            lacks != Lack.NOTHING,
        ]
        sentences = (
            wording.no_cards(asked.sharing),
            wording.MIG_CARDS,
            wording.TOO_FEW,
            wording.UNWANTED,
            wording.NO_INSTANCE,
            wording.TOO_SMALL,
        )
        refusals = [self._ssn.refusal(Reason.NODES_REFUSE, sentence, resolvable=False) for sentence in sentences]
        return np.select(reasons, refusals, FITS).astype(np.int32)

    def _lacks_of_empty(self, asked: CardsAsked) -> NDArray[np.int8]:
        """[N] what empty nodes lack for one of the containers. Whether all find their cards together depends on which
        cards the first ones get, and that on which are in use."""
        cards, nothing = self._cards, np.zeros_like(self._cards.memory)
        lacks = np.zeros(len(nothing), dtype=np.int8)
        for container in asked.containers:
            mig = MigShelf(cards.models, cards.model, nothing) if cards.slots else None
            empty = Shelf(cards.memory, cards.users, nothing, nothing, nothing, self.wanted(asked), mig=mig)
            alone = replace(asked, containers=(container,))
            lacks = np.where(lacks == Lack.NOTHING, place(empty, alone, None).lacks, lacks)
        return lacks
