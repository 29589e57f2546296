"""deviceshare: let pods share GPUs, and choose the cards (and the node) that each gets a part of.

Nodes announce their cards, and pods that are placed say which they hold, as HAMi's device plugin or Volcano's older
one has it. The cards of a pod are chosen when it is placed, and its binding writes them on it, where the node's device
plugin reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.api.annotations.vgpu import Device
from volcano_py.api.reasons import Reason
from volcano_py.config.flags import Flags
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import GoesBy, Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView, Scores
from volcano_py.plugins.deviceshare import wording, written
from volcano_py.plugins.deviceshare.advice import Advice
from volcano_py.plugins.deviceshare.apart import Apart, KeptApart
from volcano_py.plugins.deviceshare.arguments import DeviceShareArguments
from volcano_py.plugins.deviceshare.choice import SCORING, Lack, Shelf, Taken, place, room
from volcano_py.plugins.deviceshare.mig import NONE
from volcano_py.plugins.deviceshare.node_cards import NodeCards, cards_of
from volcano_py.plugins.deviceshare.use import CardUse, Parts, parts_of
from volcano_py.plugins.deviceshare.wishes import Wishes
from volcano_py.state.cards.asked import RESOURCES, CardsAsked, Sharing
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_PLACED: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


class DeviceShare(Plugin):
    """See the module."""

    name = "deviceshare"
    predicate_lasts = True
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = DeviceShareArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._given: DeviceShareArguments = arguments
        self._sharing, self._policy = self._given.sharing(), self._given.card_policy()
        self._models_key = msgspec.json.encode(self._given.models())
        self._rules = self._given.rules()
        self._apart = KeptApart(self._rules)

    def card_resources(self) -> frozenset[str]:
        if self._sharing is None or not self.flags.allow("predicate"):
            return frozenset()
        return RESOURCES[self._sharing]

    def has_variants(self, cluster: ClusterCopy) -> bool:
        return self._sharing is Sharing.VGPU and self._apart.look_at(cluster)

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str] | None:
        """Pods that are kept apart are of the class of their job or rules: where the others are decides."""
        return self._apart.variants(cluster, job_row, rows)

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        way, models = self._sharing or Sharing.VGPU, self._given.models()
        key = "cards that are shared", way, self._models_key
        self._cards: NodeCards = ssn.nodes.kept.keep(key, lambda: NodeCards(ssn, way, models))
        self._use = CardUse(ssn, self._cards, self._rules)
        self._wishes = Wishes(ssn, self._cards)
        self._advice = Advice(ssn, self._cards, self._rules)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        codes = self.predicate_for_good(task_class, view)
        if (asked := self._asked(task_class)) is not None and len(open_nodes := np.flatnonzero(codes == FITS)):
            shelf = self._shelf(task_class, asked, view.rows[open_nodes], released=view.released)
            codes[open_nodes] = self._codes_of_lacks(task_class, asked)[place(shelf, asked, self._policy).lacks]
        return codes

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes:
        """What an empty node would say."""
        asked = self._asked(task_class)
        if asked is None:
            return np.zeros(len(view), dtype=np.int32)
        return self._wishes.codes(asked)[view.rows]

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.STATIC if self._asked(task_class) is None else Reach.ROW

    def predicate_goes_by(self, task_class: TaskClass) -> GoesBy:  # noqa: ARG002
        return GoesBy.USE

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts:
        asked = self._asked(task_class)
        if asked is None:
            return np.full(len(view), np.iinfo(np.int64).max)
        return room(self._shelf(task_class, asked, view.rows, released=view.released), asked, self._policy)

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> list[str]:
        asked = self._asked(task_class)
        if asked is None:
            return []
        everywhere = np.arange(len(self._cards.key))
        shelf = self._shelf(task_class, asked, everywhere, released=False)
        return self._advice.of(shelf, asked, refused, self._apart_of(task_class))

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        """100 points for each card at most, of the cards that the pod would get, times the weight."""
        asked, weight = self._asked(task_class), self._given.weight
        if asked is None or not weight or self._policy not in SCORING:
            return np.zeros(len(view))
        shelf = self._shelf(task_class, asked, view.rows, released=view.released)
        supposed = view.supposed
        if supposed is not None:
            for step in range(int(supposed.max(initial=0))):
                place(shelf, asked, self._policy, np.greater(supposed, step))
        return weight * place(shelf, asked, self._policy).score

    # -- what pods take ------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        self._follow(placement)

    def on_deallocate(self, placement: Placement) -> None:
        self._follow(placement)

    def _follow(self, placement: Placement) -> None:
        """Tasks were placed, evicted or taken back; where they are now, the ledger says."""
        if placement.task_class.cards is None:
            return
        tasks, job = self._ssn.ledger.tasks, placement.job.row
        asked = self._asked(placement.task_class)
        for row in placement.rows.tolist():
            status = tasks.status[row]
            if status == TaskStatus.PENDING:
                self._ssn.findings.drop_annotations(row)
            elif asked is not None and status in _PLACED and not self._use.has(row):
                self._take(row, int(tasks.node[row]), placement.task_class, asked, released=status != _PLACED[0])
            self._use.follow(row, job)

    def _take(self, row: int, node: int, task_class: TaskClass, asked: CardsAsked, *, released: bool) -> None:
        """Choose the task's cards on the node.

        Raises:
            LookupError: the node has none; no pod should have been placed there.
        """
        shelf = self._shelf(task_class, asked, np.array([node]), released=released)
        taken = place(shelf, asked, self._policy)
        if not taken.fits[0]:
            raise LookupError(f"{self._ssn.task_info(row).key}: no cards on node {self._ssn.nodes.names[node]}")
        parts, devices = self._parts(node, asked, taken)
        self._use.choose(row, parts)
        name = self._ssn.snapshot.nodes[node].name
        self._ssn.findings.annotate(row, written.on_pod(asked.sharing, name, devices, self._ssn.now))

    def _parts(self, node: int, asked: CardsAsked, taken: Taken) -> tuple[Parts, list[list[Device]]]:
        """What one pod takes of the cards of the node, and how that is written, by container."""
        there, model = cards_of(self._ssn.snapshot.nodes[node], asked.sharing), self._cards.model[node]
        chosen, devices = [], []
        for number, (container, cards) in enumerate(zip(asked.containers, taken.cards, strict=True)):
            of_one = []
            for at in np.flatnonzero(cards[0]).tolist():
                slot, memory, instance = NONE, container.memory or there[at].memory, ""
                if model[at] != NONE:
                    slot = int(taken.slots[number][0, at])
                    of_slot = self._cards.models[model[at]].slots[slot]
                    memory, instance = of_slot.memory, of_slot.name
                chosen.append((at, memory, container.cores, slot))
                of_one.append(Device(there[at].uuid, memory, container.cores, instance))
            devices.append(of_one)
        return parts_of(node, chosen), devices

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _asked(self, task_class: TaskClass) -> CardsAsked | None:
        """What pods of the class ask for; None if they need no cards chosen."""
        asked = task_class.cards
        return asked if asked is not None and asked.containers and asked.sharing is self._sharing else None

    def _shelf(self, task_class: TaskClass, asked: CardsAsked, rows: Rows, *, released: bool) -> Shelf:
        wanted = self._wishes.wanted(asked)[rows]
        return self._use.shelf(rows, wanted, self._apart_of(task_class), released=released)

    def _apart_of(self, task_class: TaskClass) -> Apart:
        return self._apart.of(task_class.variant.get(self.name, ""))

    def _codes_of_lacks(self, task_class: TaskClass, asked: CardsAsked) -> Codes:
        """The refusal of each lack, by its number. Such refusals end as pods leave."""
        apart = self._apart_of(task_class)
        sentences = [wording.lacks(asked.sharing, lack, apart) for lack in Lack if lack is not Lack.NOTHING]
        codes = [self._ssn.refusal(Reason.NODES_REFUSE, sentence, transient=True) for sentence in sentences]
        return np.array([FITS, *codes], dtype=np.int32)
