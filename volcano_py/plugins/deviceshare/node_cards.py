"""The cards of all nodes as columns, as the nodes announce them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.annotations.vgpu import MIG, Card, card_key
from volcano_py.api.names import VGPU_CORES, VGPU_MEMORY, VGPU_NUMBER
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.plugins.deviceshare.mig import NONE, Models, model_of
from volcano_py.state.cards.asked import CardsAsked, Sharing
from volcano_py.state.infos import NodeInfo

Grid = NDArray[np.int64]
"""[N, C] a number for each card: node row by position on the node."""
CardMask = NDArray[np.bool_]
"""[N, C]"""

_OFFERED: Final = (VGPU_NUMBER, VGPU_MEMORY, VGPU_CORES)


class NodeCards:
    """Kept while nodes stay as they are. Places without a card take no users.

    A node whose allocatable has none of one of the three resources of vGPUs offers none: its device plugin is gone.

    Attributes:
        key: [N, C] stands for the UUID.
        users: [N, C] how many containers may share the card.
        memory: [N, C] MB.
        exists: [N, C]
        model: [N, C] which of `models` it is, where it is divided by hardware; `mig.NONE` elsewhere.
        is_unknown_mig: [N, C] divided by hardware, and of none of these models.
        slots: the most instances that a model has in all its groups; 0: no card is divided.
    """

    def __init__(self, cluster: ClusterCopy, sharing: Sharing, models: Models = ()) -> None:
        cards = _cards(cluster, sharing)
        shape = len(cards), max(map(len, cards), default=0)
        at = np.array([(row, place) for row, found in enumerate(cards) for place in range(len(found))], dtype=np.intp)
        rows, places = at.reshape(-1, 2).T
        flat = [card for found in cards for card in found]

        def grid(values: list[int], fill: int = 0) -> Grid:
            made = np.full(shape, fill, dtype=np.int64)
            made[rows, places] = values
            return made

        self.key = grid([card.key for card in flat], -1)
        self.users = grid([card.users for card in flat])
        self.memory = grid([card.memory for card in flat])
        self._kinds: dict[str, int] = {}
        self._kind = grid([self._kinds.setdefault(card.kind.lower(), len(self._kinds)) for card in flat])
        self._modes: dict[str, int] = {}
        self._mode = grid([self._modes.setdefault(card.mode, len(self._modes)) for card in flat])
        self.exists: CardMask = self.key >= 0
        is_mig: CardMask = self.exists & (self._mode == self._modes.get(MIG, -1))
        self.models = models
        of_kind = np.array([*(model_of(models, kind) for kind in self._kinds), NONE], dtype=np.int64)
        self.model: Grid = np.where(is_mig, of_kind[self._kind], NONE)
        self.is_unknown_mig: CardMask = is_mig & (self.model == NONE)
        self.slots = max((len(models[number].slots) for number in np.unique(self.model) if number != NONE), default=0)

    @property
    def nbytes(self) -> int:
        """Roughly."""
        return 7 * self.key.nbytes

    def wanted(self, asked: CardsAsked) -> CardMask:
        """[N, C] the cards that will do for such a pod, whatever is free."""
        wanted = self.exists & ~self.is_unknown_mig
        if asked.mode:
            wanted &= self._mode == self._modes.get(asked.mode, -1)
        if asked.uuids:
            wanted &= np.isin(self.key, [*map(card_key, asked.uuids)])
        if asked.no_uuids:
            wanted &= ~np.isin(self.key, [*map(card_key, asked.no_uuids)])
        if asked.kinds:
            wanted &= self._of_kinds(asked.kinds)
        if asked.no_kinds:
            wanted &= ~self._of_kinds(asked.no_kinds)
        return wanted

    def _of_kinds(self, parts: tuple[str, ...]) -> CardMask:
        """[N, C] whether one of these is part of the card's type."""
        of_kind = np.array([any(part in kind for part in parts) for kind in self._kinds], dtype=np.bool_)
        return of_kind[self._kind] if len(of_kind) else self.exists


def cards_of(node: NodeInfo, sharing: Sharing) -> tuple[Card, ...]:
    """The cards that the node announces for it."""
    return node.cards if sharing is Sharing.VGPU else node.gpus


def _cards(cluster: ClusterCopy, sharing: Sharing) -> list[tuple[Card, ...]]:
    """[N]"""
    nodes = cluster.snapshot.nodes
    if sharing is not Sharing.VGPU:
        return [cards_of(info, sharing) for info in nodes]
    return [cards_of(info, sharing) if offers else () for info, offers in zip(nodes, _offers(cluster), strict=True)]


def _offers(cluster: ClusterCopy) -> NDArray[np.bool_]:
    """[N]"""
    offers = np.ones(len(cluster.snapshot.nodes), dtype=np.bool_)
    for name in _OFFERED:
        place = cluster.axis.index(name)
        if place is None:
            return np.zeros_like(offers)
        offers &= cluster.ledger.nodes.allocatable[:, place] > 0
    return offers
