"""How many pods of a class the nodes could take if they were empty: none, for pods that fit no node."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.plugins.predicates.devices.empty_nodes import room_on_empty_nodes
from volcano_py.plugins.predicates.verdicts import Questions, judge, verdict_key
from volcano_py.state.task_class import TaskClass

_KNOWN: Final = "known"
_PLENTY: Final = 2**31  # pods on one node
_encode = msgspec.msgpack.Encoder().encode


class EmptyNodes:
    """Answers follow from nodes alone, and from devices that stand in for resources. They are kept between cycles: with
    the node index, and those of the classes that the cycle before asked for also by class, as there may be thousands.
    Share one in a cycle."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._questions: Questions | None = None
        self._predicates: Plugin | None = None
        for plugin in ssn.dispatch.plugins:
            if plugin.name == "predicates":
                arguments: Any = plugin.arguments
                self._questions = Questions(arguments.node_affinity, arguments.taints)
                self._predicates = plugin
        memory = ssn.memory(__name__)
        *basis, before = memory.get(_KNOWN, (None, None, None, {}))
        self._before: dict[TaskClass, int] = before if basis == [ssn.nodes, self._questions, ssn.offered] else {}
        self._known: dict[TaskClass, int] = {}
        memory[_KNOWN] = ssn.nodes, self._questions, ssn.offered, self._known

    def room(self, row: int) -> int:
        """Pods of the class in this row; 0 also for those that cannot be placed as they are."""
        task_class = self._ssn.snapshot.classes[row]
        if task_class is None:
            return 0
        room = self._known.get(task_class)
        if room is None:
            room = None if task_class.uses_claims else self._before.get(task_class)
            self._known[task_class] = room = self._room(task_class) if room is None else room
        return room

    def room_if_ready(self, row: int) -> int:
        """The same; 0 also for those whose claims are not ready."""
        task_class = self._ssn.snapshot.classes[row]
        if task_class is None or self._ssn.ask.pre_predicate(task_class) is not None:
            return 0
        return self.room(row)

    def _room(self, task_class: TaskClass) -> int:
        if task_class.problem is not None:
            return 0
        if (by_devices := self._by_devices(task_class)) is not None:
            return self._count(task_class, by_devices)
        asked = _encode((self._questions is None, task_class.request.tolist(), self._ssn.offered))
        key = ("room on empty nodes", asked, *verdict_key(task_class, self._questions or Questions()))
        return int(self._ssn.nodes.kept.keep(key, lambda: np.array(self._count(task_class))))

    def _by_devices(self, task_class: TaskClass) -> Counts | None:
        """[N] as many as the devices of each node would do for."""
        if not task_class.devices or self._predicates is None or not self._predicates.chooses_devices():
            return None
        return room_on_empty_nodes(self._ssn, self._predicates.memory, task_class)

    def _count(self, task_class: TaskClass, at_most: Counts | None = None) -> int:
        """`at_most` [N] on each node."""
        index, nodes = self._ssn.nodes, self._ssn.ledger.nodes
        may_take = nodes.present.copy()
        if (questions := self._questions) is not None:
            verdict = index.kept.keep(verdict_key(task_class, questions), lambda: judge(index, task_class, questions))
            if verdict.codes is not None:
                may_take &= verdict.codes == 0
        if at_most is not None:
            may_take &= at_most > 0
        asked = task_class.requested
        if not may_take.any() or not len(asked):
            return int(may_take.sum())
        fitting = (nodes.allocatable[may_take][:, asked] // task_class.request[asked]).min(axis=1)
        if at_most is not None:
            np.minimum(fitting, at_most[may_take], out=fitting)
        return int(fitting.clip(0, _PLENTY).sum())
