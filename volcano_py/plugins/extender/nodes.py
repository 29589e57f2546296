"""What the extender says of nodes: which may take a class of pods, and their scores. Kept for the cycle."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from volcano_py.api.extender.answers import PredicateAnswer, PrioritizeAnswer
from volcano_py.api.extender.client import Failure, Question
from volcano_py.api.reasons import Reason
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Scores
from volcano_py.plugins.extender.arguments import ExtenderArguments
from volcano_py.plugins.extender.line import Line, encode, in_short
from volcano_py.plugins.extender.payloads import Payloads
from volcano_py.plugins.extender.texts import Texts
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_UNKNOWN: Final = -1


class NodeVerdicts:
    """For one session. A class is one pod to the extender: the first that waits."""

    def __init__(
        self, ssn: Session, line: Line, arguments: ExtenderArguments, payloads: Payloads, texts: Texts
    ) -> None:
        self._ssn, self._line, self._arguments, self._payloads = ssn, line, arguments, payloads
        self._texts = texts
        self._codes: dict[int, Codes] = {}
        """Class → [N] verdicts, or _UNKNOWN."""
        self._scores: dict[int, Scores] = {}
        """Class → [N] scores; NaN where they were not asked for."""
        self._closed: dict[int, int] = {}
        """Class → why no node takes it."""

    # -- which nodes may take it -----------------------------------------------------------------------------------

    def known(self, task_class: TaskClass, rows: Rows) -> Codes:
        """[K] what is known; a node that was not asked about may take it."""
        codes: Codes = np.full(len(rows), self._closed.get(task_class.row, FITS), dtype=np.int32)
        if (found := self._codes.get(task_class.row)) is not None:
            codes = np.where(codes == FITS, np.maximum(found[rows], FITS), codes)
        return codes

    def ask(self, task_class: TaskClass, rows: Rows) -> Codes:
        """[K] the verdicts on nodes; those that are not known are asked for."""
        if self._arguments.predicate and task_class.row not in self._closed:
            verdicts = self._codes.get(task_class.row)
            if verdicts is None:
                verdicts = self._codes[task_class.row] = np.full(self._size, _UNKNOWN, dtype=np.int32)
            unknown = rows[verdicts[rows] == _UNKNOWN]
            if len(unknown):
                verdicts[unknown] = self._ask(task_class, unknown)
        return self.known(task_class, rows)

    def refuse(self, task_class: TaskClass, row: int, said: str) -> None:
        """The node did not take the class, as the extender said later."""
        verdicts = self._codes.setdefault(task_class.row, np.full(self._size, _UNKNOWN, dtype=np.int32))
        verdicts[row] = self._code(f"node(s) got no pod, as the extender said: {said}", resolvable=False)

    @property
    def _size(self) -> int:
        return len(self._ssn.snapshot.nodes)

    def _ask(self, task_class: TaskClass, rows: Rows) -> Codes:
        row = self._payloads.of_class(task_class)
        if row is None:
            return np.zeros(len(rows), dtype=np.int32)
        if (why := self._line.why_not()) is not None:  # thousands of nodes may be left
            return np.full(len(rows), self._verdict(row, 0, Failure(why)), dtype=np.int32)
        questions = [self._question(row, node) for node in rows.tolist()]
        answers = self._line.ask(self._arguments.predicate, questions, PredicateAnswer)
        verdicts = [self._verdict(row, node, each) for node, each in zip(rows.tolist(), answers, strict=True)]
        return np.array(verdicts, dtype=np.int32)

    def _question(self, task: int, node: int) -> Question:
        """Whether the node may take the task."""
        about = f"{self._ssn.task_info(task).key} {self._ssn.snapshot.nodes[node].name}"
        return Question(about, lambda: encode({"task": self._payloads.task(task), "node": self._payloads.node(node)}))

    def _verdict(self, task: int, node: int, answer: PredicateAnswer | Failure) -> int:
        if isinstance(answer, Failure):
            return FITS if self._arguments.ignorable else self._failed(answer)
        if not answer.status:
            return FITS
        about = self._ssn.task_info(task).ref.uid, self._ssn.snapshot.nodes[node].name
        said = self._texts.of(about, answer.status)
        return self._code(f"node(s) were refused by the extender: {said}", answer.is_resolvable)

    def _failed(self, failure: Failure) -> int:
        return self._code(f"node(s) were not judged: the extender {failure.why}", resolvable=False)

    def _code(self, message: str, resolvable: bool) -> int:
        return self._ssn.refusal(Reason.NODES_REFUSE, message, resolvable=resolvable)

    # -- scores ------------------------------------------------------------------------------------------------------

    def scores(self, task_class: TaskClass, rows: Rows) -> Scores:
        """[K] the scores of nodes that could take it. New ones are asked for, all in one question."""
        scores = self._scores.get(task_class.row)
        if scores is None:
            scores = self._scores[task_class.row] = np.full(self._size, np.nan)
        unknown = rows[np.isnan(scores[rows])]
        if len(unknown):
            scores[unknown] = self._ask_scores(task_class, unknown)
        found: Scores = scores[rows]
        return found

    def _ask_scores(self, task_class: TaskClass, rows: Rows) -> Scores:
        row = self._payloads.of_class(task_class)
        if row is None:
            return np.zeros(len(rows))
        names = [self._ssn.snapshot.nodes[node].name for node in rows.tolist()]
        about = f"{self._ssn.task_info(row).key} {in_short(names)}"
        question = Question(about, partial(self._body_of_all, row, rows), among=tuple(names))
        (answer,) = self._line.ask(self._arguments.prioritize, [question], PrioritizeAnswer)
        if not isinstance(answer, Failure) and (answer.errormessage or answer.nodescore is None):
            said = self._texts.of(self._ssn.task_info(row).ref.uid, answer.errormessage or "nodeScore is null")
            answer = Failure(f"gave no scores: {said}")
        if isinstance(answer, Failure):
            if not self._arguments.ignorable:
                self._closed[task_class.row] = self._failed(answer)
            return np.zeros(len(rows))
        return np.array([answer.score(name) for name in names])

    def _body_of_all(self, task: int, nodes: Rows) -> bytes:
        """Which of the nodes are better for the task."""
        every = [self._payloads.node(node) for node in nodes.tolist()]
        return encode({"task": self._payloads.task(task), "nodes": every})
