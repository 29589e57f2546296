"""What is said to the author of a pod that no node takes because of its cards: what it asks for, what there is."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.plugins.deviceshare import wording
from volcano_py.plugins.deviceshare.apart import Apart, Rules
from volcano_py.plugins.deviceshare.choice import Lack, Shelf
from volcano_py.plugins.deviceshare.mig import MigShelf
from volcano_py.plugins.deviceshare.node_cards import Grid, NodeCards, cards_of
from volcano_py.state.cards.asked import WHOLE, CardsAsked, ContainerAsks, Sharing
from volcano_py.state.table.table import Rows


class Advice:
    """Looks at cards that the pod may use, on the nodes that refuse it for the reason in question."""

    def __init__(self, ssn: Session, cards: NodeCards, rules: Rules) -> None:
        self._ssn, self._cards, self._rules = ssn, cards, rules

    def of(self, shelf: Shelf, asked: CardsAsked, refused: Refused, apart: Apart) -> list[str]:
        """Sentences; `shelf` has all nodes, `apart` is what the pod is kept apart from."""
        sentences = self._of_numbers(shelf, asked, refused)
        if asked.sharing is Sharing.GPU_NUMBER:
            return sentences
        largest = max(asked.containers, key=lambda container: container.memory or wording.ALL_MEMORY)
        busiest = max(asked.containers, key=lambda container: container.cores)
        if len(rows := refused.rows(wording.lacks(asked.sharing, Lack.MEMORY))):
            free = shelf.total - shelf.memory
            sentences.append(wording.lacks_memory(largest, *self._most(free, shelf, rows, largest.cards)))
        if busiest.cores and len(rows := refused.rows(wording.lacks(asked.sharing, Lack.CORES))):
            free = WHOLE - shelf.cores
            sentences.append(wording.lacks_cores(busiest, *self._most(free, shelf, rows, busiest.cards)))
        if len(rows := refused.rows(wording.TOO_SMALL)):
            sentences.append(wording.too_small(largest, *self._most(shelf.total, shelf, rows, largest.cards)))
        if apart.rules and wording.lacks(asked.sharing, Lack.APART, apart) in refused:
            sentences.append(wording.kept_apart([self._rules.text(number) for number in apart.rules]))
        if shelf.mig is not None:
            sentences += self._of_instances(shelf, shelf.mig, largest, refused)
        return sentences

    def _of_instances(self, shelf: Shelf, mig: MigShelf, asked: ContainerAsks, refused: Refused) -> list[str]:
        sentences = []
        if len(rows := refused.rows(wording.lacks(Sharing.VGPU, Lack.INSTANCE))):
            sentences.append(wording.lacks_instance(asked, *self._most(mig.largest(), shelf, rows, asked.cards)))
        if len(rows := refused.rows(wording.NO_INSTANCE)):
            empty = MigShelf(mig.models, mig.model, np.zeros_like(mig.taken)).largest()
            sentences.append(wording.no_instance(asked, *self._most(empty, shelf, rows, asked.cards)))
        return sentences

    def _most(self, amounts: Grid, shelf: Shelf, rows: Rows, cards: int) -> tuple[int, str]:
        """The most that so many cards of one of these nodes have each, and the node, the first by name among equals."""
        return self._best(np.sort(np.where(shelf.wanted, amounts, 0)[rows], axis=1)[:, -cards], rows)

    def _of_numbers(self, shelf: Shelf, asked: CardsAsked, refused: Refused) -> list[str]:
        """Of how many cards there are: at all, that the pod may use, and that no other pod uses."""
        most = max(container.cards for container in asked.containers)
        kinds = [(wording.TOO_FEW, "", self._cards.exists)]
        if keys := asked.wished_by:
            kinds.append((wording.UNWANTED, wording.allowed_by(keys), shelf.wanted))
        if asked.sharing is Sharing.GPU_NUMBER:
            in_use = wording.lacks(asked.sharing, Lack.CORES)
            kinds.append((in_use, wording.NOT_IN_USE, shelf.wanted & (shelf.users == 0)))
        sentences = []
        for refusal, which, cards in kinds:
            if len(rows := refused.rows(refusal)):
                sentences.append(wording.so_many(most, which, *self._best(cards[rows].sum(axis=1), rows)))
        if len(rows := refused.rows(wording.MIG_CARDS)):
            sentences.append(self._of_unknown_mig(rows))
        return sentences

    def _of_unknown_mig(self, rows: Rows) -> str:
        """Of the first of these nodes by name."""
        row = int(rows[np.argmin(self._ssn.nodes.name_rank[rows])])
        cards = cards_of(self._ssn.snapshot.nodes[row], Sharing.VGPU)
        kinds = {cards[at].kind for at in np.flatnonzero(self._cards.is_unknown_mig[row]).tolist()}
        return wording.unknown_mig(str(self._ssn.nodes.names[row]), sorted(kinds))

    def _best(self, most: Counts, rows: Rows) -> tuple[int, str]:
        """[K] what each of the nodes has → the most, and the node, the first by name among equals."""
        best = rows[most == most.max()]
        name = self._ssn.nodes.names[best[np.argmin(self._ssn.nodes.name_rank[best])]]
        return max(int(most.max()), 0), str(name)
