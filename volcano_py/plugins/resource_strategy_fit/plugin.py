"""resource-strategy-fit: pack pods by one resource, spread them by another, and keep nodes with scarce devices free.

The score of a node is the sum of two: that of the strategies (a weighted mean over resources, each packed or spread)
and that of retention (points for nodes without scarce resources). The policy proportional keeps cpu and memory free for
idle devices, as a rule on nodes, not as a score.

Pods may bring strategies of their own by annotation. What cannot be read there is ignored, and the pod gets an event
when it is placed.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import structlog

from volcano_py.api.effects import Event
from volcano_py.api.names import IGNORED_ANNOTATION
from volcano_py.config.flags import Flags
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import GoesBy, Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, Counts, NodeView, Scores
from volcano_py.plugins.amounts.reserve import Reserve
from volcano_py.plugins.resource_strategy_fit.arguments import ResourceStrategyFitArguments
from volcano_py.plugins.resource_strategy_fit.override import OverrideError, read_override
from volcano_py.plugins.resource_strategy_fit.retention import RetentionScores
from volcano_py.plugins.resource_strategy_fit.settings import Strategies
from volcano_py.plugins.resource_strategy_fit.strategy import StrategyScore, StrategyScores
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

log = structlog.get_logger(__name__)


class _ClassScores(msgspec.Struct, frozen=True, eq=False):
    """What makes up a class's score; None adds nothing."""

    strategy: StrategyScore | None
    retention: Scores | None
    """[N]"""


class ResourceStrategyFit(Plugin):
    """See the module."""

    name = "resource-strategy-fit"
    predicate_lasts = True
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = ResourceStrategyFitArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._given: ResourceStrategyFitArguments = arguments
        self._strategies: Strategies = self._given.strategies()
        self._scores_of: dict[int, _ClassScores] = {}
        self._ignored: dict[int, str] = {}
        """Class row → what is wrong with its pods' annotations."""

    def on_session_open(self, ssn: Session) -> None:
        retention = self._given.retention()
        self._ssn = ssn
        self._strategy_scores = StrategyScores(ssn, self._given.weight)
        self._retention = RetentionScores(ssn, retention) if retention is not None else None
        self._reserves = [Reserve(ssn, ratios) for ratios in self._given.reserves()]

    def on_session_close(self, ssn: Session) -> None:
        """Record an event on each pod that was placed with its annotations ignored."""
        for class_row, fault in self._ignored.items():
            message = f"{fault}; nodes were scored as the scheduler is configured"
            rows = self._placed(class_row)
            ssn.emit([Event(ssn.task_info(row).ref, "Warning", IGNORED_ANNOTATION, message) for row in rows.tolist()])
            if len(rows):
                pod = ssn.task_info(int(rows[0])).key
                log.warning("annotations of pods are ignored", pod=pod, pods=len(rows), why=fault)

    # -- scores ----------------------------------------------------------------------------------------------------

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        found = self._class_scores(task_class)
        scores = np.zeros(len(view)) if found.strategy is None else found.strategy.of(view)
        if found.retention is not None:
            scores += found.retention.take(view.rows)
        return scores

    def _class_scores(self, task_class: TaskClass) -> _ClassScores:
        found = self._scores_of.get(task_class.row)
        if found is None:
            found = self._scores_of[task_class.row] = _ClassScores(
                self._strategy_score(task_class), None if self._retention is None else self._retention.of(task_class)
            )
        return found

    def _strategy_score(self, task_class: TaskClass) -> StrategyScore | None:
        if not self._given.weight:
            return None
        strategies = self._strategies
        if any(task_class.strategy):
            try:
                strategies = read_override(*task_class.strategy)
            except OverrideError as error:
                self._ignored[task_class.row] = str(error)
        return self._strategy_scores.score(task_class, strategies)

    def _placed(self, class_row: int) -> Rows:
        """Tasks of a class that this cycle has handed to the binder."""
        tasks, before = self._ssn.ledger.tasks, self._ssn.snapshot.ledger.tasks
        placed = (tasks.task_class == class_row) & (tasks.status == TaskStatus.BINDING)
        return np.flatnonzero(placed & (before.status == TaskStatus.PENDING))

    # -- the proportional rule ---------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        codes = np.zeros(len(view), dtype=np.int32)
        for reserve in self._concerning(task_class):
            reserve.refuse(task_class, view, codes)
        return codes

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes:  # noqa: ARG002
        """Nothing: refusals pass as devices come into use."""
        return np.zeros(len(view), dtype=np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.ROW if self._concerning(task_class) else Reach.STATIC

    def predicate_goes_by(self, task_class: TaskClass) -> GoesBy:  # noqa: ARG002
        return GoesBy.USE

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        rooms = [reserve.room(task_class, view) for reserve in self._concerning(task_class)]
        return np.minimum.reduce(rooms) if rooms else None

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> list[str]:
        return [sentence for reserve in self._concerning(task_class) for sentence in reserve.advice(refused)]

    def _concerning(self, task_class: TaskClass) -> list[Reserve]:
        return [reserve for reserve in self._reserves if reserve.concerns(task_class)]
