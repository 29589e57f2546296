"""Which parts of cards placed pods hold: what their bindings wrote on them, from the decision until they are gone.

The pod's annotation is not read again once that is known: its author may edit it. A restart reads it back. Only pods
that ask for cards hold any, and no more than they ask for, so that an annotation on another pod blocks no card.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.annotations.gpu_index import read_indexes
from volcano_py.api.annotations.vgpu import MOST_MEMORY, card_key, read_devices
from volcano_py.api.names import GPU_INDEX, VGPU_IDS
from volcano_py.api.objects import Pod
from volcano_py.state.cards.asked import CardsAsked, Sharing
from volcano_py.state.table.table import NOWHERE, Column, Table


class HeldTable(Table):
    """Row per device of a pod: the part of one card that one of its containers uses. Rows without a task are free."""

    task: NDArray[np.int32]
    card: NDArray[np.int64]
    memory: NDArray[np.int64]
    cores: NDArray[np.int64]
    instance: NDArray[np.int64]
    columns = {
        "task": Column(np.int32, NOWHERE),
        "card": Column(np.int64),  # `Card.key`
        "memory": Column(np.int64),  # MB; more than the card has: all of it
        "cores": Column(np.int64),  # percent
        "instance": Column(np.int64, NOWHERE),  # `card_key` of its name, on cards that are divided
    }


class HeldCards:
    """Store of that table; costs nothing for pods that hold no cards."""

    def __init__(self) -> None:
        self._table = HeldTable(0)
        self._rows: dict[int, list[int]] = {}
        """Task row → rows of the table."""

    def put(self, task: int, written: Mapping[str, str], asked: CardsAsked | None) -> None:
        """A task whose cards are not known yet has a place; `written`: annotations of its binding, or of the pod."""
        if asked is None or task in self._rows:
            return
        text = written.get(VGPU_IDS if asked.sharing is Sharing.VGPU else GPU_INDEX)
        if not text:
            return
        rows = self._rows[task] = []
        for card, memory, cores, instance in _parts(text, asked):
            row = self._table.new_row()
            columns = self._table.change(row)
            columns.task[row], columns.card[row] = task, card
            columns.memory[row], columns.cores[row], columns.instance[row] = memory, cores, instance
            rows.append(row)

    def put_as_written(self, task: int, pod: Pod, asked: CardsAsked | None) -> None:
        """A pod is placed as the API server shows it."""
        if asked is not None:
            self.put(task, pod.metadata.annotations, asked)

    def take(self, task: int) -> None:
        """The task has no place any more."""
        for row in self._rows.pop(task, ()):
            self._table.free_row(row)

    def picture(self, former: HeldTable | None) -> HeldTable | None:
        """A copy, made of an earlier one that nobody uses any more; None if no pod has ever held a card."""
        return self._table.copy(former) if self._table.size else None


def _parts(text: str, asked: CardsAsked) -> list[tuple[int, int, int, int]]:
    """Card, memory, cores and instance of each part. Numbers of GPUs say nothing of amounts: these are what the pod
    asks for."""
    if asked.sharing is Sharing.VGPU:
        return [
            (card_key(each.uuid), each.memory, each.cores, card_key(each.instance) if each.instance else NOWHERE)
            for each in read_devices(text, asked.cards)
        ]
    return [
        (index, container.memory or MOST_MEMORY, container.cores, NOWHERE)
        for container in asked.containers
        for index in read_indexes(text)[: container.cards]
    ]
