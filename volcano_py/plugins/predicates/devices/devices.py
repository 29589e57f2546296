"""Pods with ResourceClaims: claims that they wait for, and nodes with the devices that their claims ask for.

The semantics are those of kube-scheduler's plugin DynamicResources. Unlike there, devices of pods that are being
evicted count as free once these are gone, so that evictions can make room on devices; and where an expression cannot be
evaluated for a device, that device is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.framework.devices.requests import MostDevices
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.plugins.predicates.devices import advice
from volcano_py.plugins.predicates.devices.advice import Lack
from volcano_py.plugins.predicates.devices.choices import Choices
from volcano_py.plugins.predicates.devices.company import Company, lacks_room
from volcano_py.plugins.predicates.devices.counting import Counting, counting
from volcano_py.plugins.predicates.devices.extended import Extended
from volcano_py.plugins.predicates.devices.matching import Matches, matches_in
from volcano_py.plugins.predicates.devices.places import NETWORK, Places, places
from volcano_py.plugins.predicates.devices.search import Chosen
from volcano_py.plugins.predicates.devices.use import DeviceUse, all_free
from volcano_py.plugins.predicates.devices.wanted import Wanted
from volcano_py.state.devices.needs import Ask, DeviceTrouble, GivenDevices, OpenDevices
from volcano_py.state.nodes.terms import Mask, affinity_mask
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.task_class import Refusal, TaskClass

_PLACED: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


class Devices:
    """Costs nothing for classes without claims to devices; made with the session, updated with every placement."""

    def __init__(self, ssn: Session, memory: dict[str, Any]) -> None:
        """`memory` is the plugin's, from cycle to cycle."""
        self._ssn = ssn
        picture = self._picture = ssn.snapshot.devices
        self._matches: Matches = matches_in(memory, picture)
        self._places: Places = places(ssn.nodes, picture)
        self._counting: Counting = counting(ssn.nodes, picture)
        self._use = DeviceUse(ssn)
        self._choices = Choices(ssn, self._places, self._counting, self._use)
        self._extended = Extended(ssn)
        self._company = Company(ssn)
        self._wanted: dict[tuple[OpenDevices, ...], Wanted] = {}
        self._given: dict[int, Mask | None] = {}
        ssn.shared(MostDevices).let_chooser_say(self._most_on_a_node)

    def fault(self, task_class: TaskClass) -> Refusal | None:
        """What is wrong with a claim, so that no node will do."""
        trouble = next((need for need in task_class.devices if isinstance(need, DeviceTrouble)), None)
        if trouble is None:
            return None
        reason = Reason.UNSUPPORTED if trouble.is_unsupported else Reason.DEVICES_NOT_READY
        return Refusal(reason, trouble.message)

    def refuse(self, task_class: TaskClass, view: NodeView, codes: Codes) -> None:
        """Write the refusals of nodes that say yes so far into `codes` [K]."""
        if not task_class.devices:
            return
        usable = self._usable(task_class)
        if usable is not None:
            self._write(codes, ~usable[view.rows], advice.OUT_OF_REACH)
        if not view.released and self._choices.has_promise(task_class):
            self._write(codes, np.ones(len(codes), dtype=np.bool_), advice.IN_USE, resolvable=True)
        asking = np.flatnonzero(codes == FITS)
        free, everything = self._use.free(released=view.released), all_free(self._picture)
        for wanted, at, words in self._wanted_on(task_class, view.rows[asking]):
            places = asking[at]
            lacking = places[~wanted.fits(view.rows[places], free)]
            if not len(lacking):
                continue
            refused, in_use = np.zeros(len(codes), dtype=np.bool_), np.zeros(len(codes), dtype=np.bool_)
            refused[lacking] = True
            in_use[lacking] = wanted.fits(view.rows[lacking], everything)
            self._write(codes, in_use, words.used, resolvable=True)
            self._write(codes, refused & self._places.is_faulty(view.rows), advice.FAULTY_POOL)
            self._write(codes, refused, words.none)
        if (together := self._together(task_class)) is not None:
            self._write(codes, lacks_room(view.allocatable, together), advice.ALONE)
            if not view.released:
                self._write(codes, lacks_room(view.free, together), advice.ALONE, resolvable=True)

    def reach(self, task_class: TaskClass) -> Reach:
        """How far a placement moves the answers."""
        claims = tuple(need for need in task_class.devices if isinstance(need, OpenDevices))
        kinds = [needs for extended in self._extended.kinds(task_class) if (needs := (*claims, *extended))]
        if not kinds:
            return Reach.STATIC
        if any(need.claim for need in claims) or any(self._wanted_by(needs).spans_nodes for needs in kinds):
            return Reach.DOMAIN
        return Reach.ROW

    def room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        """[K] how many pods of the class each node takes; None when they have to be tried one by one."""
        rooms = np.full(len(view), np.iinfo(np.int64).max, dtype=np.int64)
        for wanted, at, _ in self._wanted_on(task_class, view.rows) if task_class.devices else ():
            room = wanted.room(view.rows[at], self._use.free(released=view.released))
            if room is None:
                return None
            rooms[at] = room
        return rooms

    def update(self, placement: Placement) -> None:
        """Tasks were placed, evicted or taken back: so are the devices that were chosen for them."""
        task_class, tasks = placement.task_class, self._ssn.ledger.tasks
        if not task_class.uses_claims and not any(self._extended.kinds(task_class)):
            return
        for row in placement.rows.tolist():
            status, node = tasks.status[row], int(tasks.node[row])
            if status == TaskStatus.PENDING or node == NOWHERE:
                self._choices.give_back(row)
            elif status in _PLACED and not self._choices.has(row):
                self._take(row, node, task_class, released=status == TaskStatus.PIPELINED)
            self._use.follow(row)

    def advice(self, task_class: TaskClass, refused: Refused) -> list[str]:
        """What would help a class that these nodes refuse."""
        if not task_class.devices:
            return []
        sentences = []
        if advice.OUT_OF_REACH in refused:
            given = [need for need in task_class.devices if isinstance(need, GivenDevices) and need.nodes is not None]
            sentences += [advice.out_of_reach(self._ssn, need) for need in given]
        if advice.ALONE in refused and (together := self._together(task_class)) is not None:
            sentences.append(advice.alone(self._ssn, together))
        claims, free = self._choices.open(task_class), self._use.free(released=False)
        for extended in self._extended.kinds(task_class):
            if needs := (*claims, *extended):
                wanted, words = self._wanted_by(needs), advice.lack(of_claims=bool(claims), of_extended=bool(extended))
                sentences += advice.of_devices(
                    self._ssn, self._picture, self._places, self._counting, wanted, free, refused, words
                )
        return list(dict.fromkeys(sentences))

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _take(self, row: int, node: int, task_class: TaskClass, *, released: bool) -> None:
        def choose(needs: Sequence[OpenDevices]) -> Chosen | None:
            return self._wanted_by(tuple(needs)).choose(node, self._use.free(released=released))

        self._choices.take(row, node, task_class, self._extended.at(task_class, node), choose)

    def _wanted_on(self, task_class: TaskClass, rows: Rows) -> Iterator[tuple[Wanted, Rows, Lack]]:
        """What the class wants on nodes where it wants devices, each with positions in `rows` [K], and how those are
        counted that lack it."""
        claims = self._choices.open(task_class)
        for extended, at in self._extended.groups(task_class, rows):
            if len(at) and (needs := (*claims, *extended)):
                yield self._wanted_by(needs), at, advice.lack(of_claims=bool(claims), of_extended=bool(extended))

    def _wanted_by(self, needs: tuple[OpenDevices, ...]) -> Wanted:
        found = self._wanted.get(needs)
        if found is None:
            size = len(self._ssn.nodes.nodes)
            found = self._wanted[needs] = Wanted(
                needs, self._picture, self._places, self._counting, self._matches, size
            )
        return found

    def _together(self, task_class: TaskClass) -> IntVector | None:
        """[R] what pods request that have to be on one node, as only that can use devices which a claim is about to get
        that they share; None where each may go by itself."""
        shared = (need for need in self._choices.open(task_class) if need.claim)
        tied = [need.claim for need in shared if not self._wanted_by((need,)).spans_nodes]
        return self._company.request(task_class, tied) if tied else None

    def _most_on_a_node(self, ask: Ask) -> int:
        """How many devices a request for all of them may get."""
        node = self._places.node[self._matches.mask(ask).selectable]
        of_nodes = np.bincount(node[(node != NETWORK) & (node < len(self._ssn.nodes.nodes))], minlength=1)
        return int(of_nodes.max() + (node == NETWORK).sum())

    def _usable(self, task_class: TaskClass) -> Mask | None:
        """[N] nodes from which the devices that the claims have can be used; None: all."""
        if task_class.row not in self._given:
            given = [need.nodes for need in task_class.devices if isinstance(need, GivenDevices) and need.nodes]
            masks = [affinity_mask(self._ssn.nodes, nodes) for nodes in given]
            self._given[task_class.row] = np.logical_and.reduce(masks) if masks else None
        mask = self._given[task_class.row]
        for reach in self._choices.reach(task_class):
            mask = reach if mask is None else mask & reach
        return mask

    def _write(self, codes: Codes, refused: Mask, message: str, *, resolvable: bool = False) -> None:
        """Refusals on account of other pods are `resolvable`: they pass when those are gone."""
        if refused.any():
            code = self._ssn.refusal(Reason.NODES_REFUSE, message, resolvable=resolvable, transient=resolvable)
            codes[refused & (codes == FITS)] = code
