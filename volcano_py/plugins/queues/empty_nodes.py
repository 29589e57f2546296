"""How many pods of a class the nodes could take if they were empty: none, for pods that fit no node."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.framework.session import Session
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
        for plugin in ssn.dispatch.plugins:
            if plugin.name == "predicates":
                arguments: Any = plugin.arguments
                self._questions = Questions(arguments.node_affinity, arguments.taints)
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
            room = self._before.get(task_class)
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
        asked = _encode((self._questions is None, task_class.request.tolist(), self._ssn.offered))
        key = ("room on empty nodes", asked, *verdict_key(task_class, self._questions or Questions()))
        return int(self._ssn.nodes.kept.keep(key, lambda: np.array(self._count(task_class))))

    def _count(self, task_class: TaskClass) -> int:
        index, nodes = self._ssn.nodes, self._ssn.ledger.nodes
        may_take = nodes.present.copy()
        if (questions := self._questions) is not None:
            verdict = index.kept.keep(verdict_key(task_class, questions), lambda: judge(index, task_class, questions))
            if verdict.codes is not None:
                may_take &= verdict.codes == 0
        asked = task_class.requested
        if not may_take.any() or not len(asked):
            return int(may_take.sum())
        fitting = nodes.allocatable[may_take][:, asked] // task_class.request[asked]
        return int(fitting.min(axis=1).clip(0, _PLENTY).sum())
