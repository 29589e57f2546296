"""Classes of tasks that no node will take until nodes change, whatever pods come and go.

Every node refuses such a class by its labels, taints or cordon, or is too small for it even when empty. Its tasks are
set aside before any job has its turn. The answer follows from the class, the nodes and the queues, so it is kept
between cycles (see resting.py).
"""

from __future__ import annotations

from itertools import chain

import msgspec
import numpy as np

from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import FitError
from volcano_py.framework.placement.fit import explain_barred
from volcano_py.framework.views import FITS, Codes, NodeView
from volcano_py.state.nodes.index import Kept, Key
from volcano_py.state.task_class import TaskClass


class _Answer(msgspec.Struct, frozen=True):
    error: FitError | None
    """None: the class is not barred."""

    @property
    def nbytes(self) -> int:
        if self.error is None:
            return 0
        return len(self.error.refusal.message) + sum(map(len, self.error.counts))


class Barred:
    """Answers for one session; `kept` has those of earlier ones with the same nodes, queues and configuration."""

    def __init__(self, cluster: ClusterCopy, dispatch: Dispatch, ask: CombinedAnswers, kept: Kept) -> None:
        self._cluster = cluster
        self._ask = ask
        self._advisers = dispatch.calls("predicate_advice")
        self._kept = kept
        self._failures = dispatch.failures.counts
        predicates = dispatch.calls("predicate")
        others = chain.from_iterable(map(dispatch.calls, ("pre_predicate", "predicate_advice")))
        self._predicates = predicates
        self._of_class: dict[int, FitError | None] = {}
        """The answers of this session, by class."""
        self._speakers = {call.plugin.name for call in others}
        """Plugins that must answer `predicate_for_good`, as they say more than which nodes refuse."""

    def error(self, task_class: TaskClass) -> FitError | None:
        """Why no node will take the class; None when one may."""
        if self._failures:
            return None  # the answers of a failing plugin may not last
        if task_class.row in self._of_class:
            return self._of_class[task_class.row]
        key: Key = (task_class.key, *(text for item in sorted(task_class.variant.items()) for text in item))
        if task_class.extended:  # what nodes have of these follows from devices as well
            key = (*key, self._cluster.offered)
        error = self._kept.keep(key, lambda: _Answer(self._judge(task_class))).error
        if self._failures:
            self._kept.forget(key)
            return None
        self._of_class[task_class.row] = error
        return error

    def _judge(self, task_class: TaskClass) -> FitError | None:
        nodes = self._cluster.ledger.nodes
        codes = self._codes(task_class)
        if codes is None:
            return None
        if (refusal := self._ask.pre_predicate(task_class)) is not None:
            return FitError.of_all(int(nodes.present.sum()), refusal)
        willing = np.flatnonzero(codes == FITS)
        asked = task_class.requested
        if (nodes.allocatable[willing][:, asked] >= task_class.request[asked]).all(axis=1).any():
            return None
        return explain_barred(self._cluster, self._advisers, task_class, codes)

    def _codes(self, task_class: TaskClass) -> Codes | None:
        """[N] the first lasting refusal of each node; None when a plugin that must answer does not."""
        nodes = self._cluster.ledger.nodes
        view = NodeView(nodes, np.arange(nodes.size))
        codes: Codes = np.where(nodes.present, FITS, self._cluster.absent_node).astype(np.int32)
        silent = set(self._speakers)
        nothing: Codes | None = None
        for call in self._predicates:
            answer = call.ask("predicate_for_good", task_class, view, otherwise=nothing)
            if answer is not None:
                silent.discard(call.plugin.name)
                codes = np.where(codes == FITS, answer, codes)
        return None if silent else codes
