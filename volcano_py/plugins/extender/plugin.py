"""extender: an HTTP server of the user's takes part in decisions, with Volcano's protocol.

The extender is asked late and seldom: about nodes that are about to be used, for one pod of each class, and once in a
cycle where the answer would be the same. If it refuses something, or fails, it is asked again some seconds later, even
if nothing changes in the cluster. Simulations do not ask: there, it has no objection to anything.
"""

from __future__ import annotations

from functools import cached_property
from types import NoneType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.extender.answers import OverusedAnswer, ReadyAnswer, VictimsAnswer, VoteAnswer
from volcano_py.api.extender.client import PLUGIN, Failure, Question
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import refused_by_plugin
from volcano_py.config.flags import Flags
from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, NodeView, Scores
from volcano_py.framework.votes import ABSTAIN, PERMIT, Ballot, reject
from volcano_py.plugins.extender.arguments import ExtenderArguments
from volcano_py.plugins.extender.line import Line, encode, in_short
from volcano_py.plugins.extender.nodes import NodeVerdicts
from volcano_py.plugins.extender.payloads import Payloads
from volcano_py.plugins.extender.placements import Placements
from volcano_py.plugins.extender.texts import Texts
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass

AGAIN: Final = 5.0
"""Seconds after which a cycle is due if something waits because of the extender. (Volcano has a cycle a second.)"""
NOT_ASKED: Final = "it is asked only by the running scheduler; here it has no objection to anything"
_PERMIT: Final = 1
_REJECT: Final = -1
_PLACED: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


class Extender(Plugin):
    """See the module."""

    name = PLUGIN
    arguments_type = ExtenderArguments
    guards = frozenset({"preemptable", "reclaimable"})

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._given: ExtenderArguments = arguments
        self._is_off = True
        self._known: dict[tuple[Any, ...], Any] = {}
        """Answers of this cycle."""
        self._kept: dict[tuple[str, int], dict[int, str]] = {}
        """Point and job → tasks that the extender did not give up for the job, and why."""
        self._unwanted: dict[int, str] = {}
        """Tasks whose places the extender does not want, and why."""

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        if ssn.extender is None:
            ssn.findings.remark(self.name, NOT_ASKED)
            return
        self._line = Line(ssn.extender, self._given, self.memory, ssn.now)
        self._is_off = False
        if self._given.on_session_open and ssn.decides:
            (answer,) = self._line.ask(self._given.on_session_open, [Question("", self._payloads.session)], NoneType)
            self._is_off = isinstance(answer, Failure) and not self._given.ignorable

    def on_session_close(self, ssn: Session) -> None:
        """Places that were found and not used end with the cycle: the next one reports them again if it finds them."""
        if self._is_off or not ssn.decides:
            return
        status = ssn.ledger.tasks.status
        self._placements.lost([row for row in self._placements.given if status[row] in _PLACED])
        if self._given.on_session_close:
            self._line.ask(self._given.on_session_close, [Question("", lambda: b"{}")], NoneType)

    # -- jobs and queues -----------------------------------------------------------------------------------------------

    def job_enqueueable(self, job: Job) -> Ballot:
        if self._is_off:
            return ABSTAIN
        key = ("enqueueable", job.row)
        if key not in self._known:
            (answer,) = self._line.ask(self._given.job_enqueueable, [self._about(job)], VoteAnswer)
            self._known[key] = self._ballot(job, answer)
        ballot: Ballot = self._known[key]
        return ballot

    def _ballot(self, job: Job, answer: VoteAnswer | Failure) -> Ballot:
        if isinstance(answer, Failure):
            if self._given.ignorable:
                return PERMIT
            why = f"the extender {answer.why}"
        elif answer.status == _REJECT:
            why = "the extender does not admit it"
        else:
            return PERMIT if answer.status == _PERMIT else ABSTAIN
        self._ask_again(job.row)
        return reject(Reason.REFUSED_BY_PLUGIN, refused_by_plugin(self.name, why))

    def job_enqueued(self, job: Job) -> None:
        if not self._is_off:
            self._line.ask(self._given.job_enqueued, [self._about(job)], NoneType)

    def overused(self, queue: QueueInfo) -> bool:
        if self._is_off:
            return False
        key = ("overused", queue.name)
        if key not in self._known:
            question = Question(queue.name, lambda: encode({"queue": self._payloads.queue(queue)}))
            (answer,) = self._line.ask(self._given.queue_overused, [question], OverusedAnswer)
            self._known[key] = self._why_overused(queue, answer)
        return self._known[key] is not None

    def _why_overused(self, queue: QueueInfo, answer: OverusedAnswer | Failure) -> str | None:
        if isinstance(answer, Failure):
            why = None if self._given.ignorable else f"the extender {answer.why}"
        else:
            why = f"the extender finds queue {queue.name} overused" if answer.overused else None
        if why is not None:
            self._ask_again()
        return why

    def why_overused(self, queue: QueueInfo) -> Refusal | None:
        return Refusal(Reason.REFUSED_BY_PLUGIN, refused_by_plugin(self.name, self._known["overused", queue.name]))

    def job_ready(self, job: Job) -> bool:
        """Not while the extender does not want one of its new places: what was placed for it is undone then."""
        if self._is_off:
            return True
        if (why := self._why_unwanted(job)) is not None:
            self._hold(job, why)
            return False
        return not self._given.job_ready or self._is_ready(job)

    def job_pipelined(self, job: Job) -> Ballot:
        """Places that the extender does not want are not kept either."""
        if self._is_off or (why := self._why_unwanted(job)) is None:
            return ABSTAIN
        return reject(Reason.REFUSED_BY_PLUGIN, refused_by_plugin(self.name, why))

    def _why_unwanted(self, job: Job) -> str | None:
        """Why the extender does not want a place that the job has got in this cycle."""
        tasks = self._ssn.ledger.tasks
        unwanted = (why for row, why in self._unwanted.items() if tasks.job[row] == job.row)
        return next((f"the extender does not want a place of it: {why}" for why in unwanted), None)

    def _is_ready(self, job: Job) -> bool:
        key = ("ready", job.row, self._ssn.ledger.jobs.counts[job.row].tobytes())
        if key not in self._known:
            (answer,) = self._line.ask(self._given.job_ready, [self._about(job)], ReadyAnswer)
            if isinstance(answer, Failure):
                why = None if self._given.ignorable else f"the extender {answer.why}"
            else:
                why = None if answer.status else "the extender does not find it ready"
            self._known[key] = why
        why = self._known[key]
        if why is not None:
            self._hold(job, why)
        return why is None

    def _hold(self, job: Job, why: str) -> None:
        self._ssn.findings.note(job, Refusal(Reason.REFUSED_BY_PLUGIN, refused_by_plugin(self.name, why)))
        self._ask_again()

    # -- nodes -------------------------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        """What is known already; see `late_predicate`."""
        if self._is_off:
            return np.zeros(len(view), dtype=np.int32)
        return self._verdicts.known(task_class, view.rows)

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes | None:  # noqa: ARG002
        return np.zeros(len(view), dtype=np.int32)

    def late_predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        if self._is_off or not self._is_managed(task_class):
            return np.zeros(len(view), dtype=np.int32)
        codes = self._verdicts.ask(task_class, view.rows)
        if (codes != FITS).any():
            self._ask_again()
        return codes

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        if self._is_off or not self._is_managed(task_class):
            return None
        return self._verdicts.scores(task_class, view.rows)

    # -- victims -----------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        return self._victims("preemptable", self._given.preemptable, preemptor, candidates)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        return self._victims("reclaimable", self._given.reclaimable, reclaimer, candidates)

    def refused_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        kept = self._kept.get((point, task.job.row))
        return None if kept is None else np.isin(candidates, list(kept))

    def protected_by(self, rows: Rows) -> str:
        reasons = {why for kept in self._kept.values() for row, why in kept.items() if row in set(rows.tolist())}
        why = reasons.pop() if len(reasons) == 1 else ""
        return f"by the extender, which {why or f'did not give {_it(len(rows))} up'}"

    def _victims(self, point: str, verb: str, evictor: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        if self._is_off or not self._is_managed(evictor.task_class):
            return None
        key = ("victims", verb, evictor.row, candidates.tobytes())
        if key not in self._known:
            (answer,) = self._line.ask(verb, [self._about_victims(evictor, candidates)], VictimsAnswer)
            self._known[key] = found = self._given_up(answer, candidates)
            if found is not None:
                self._note_kept((point, evictor.job.row), candidates, found, answer)
        known: NDArray[np.bool_] | None = self._known[key]
        return None if known is None else known.copy()

    def _given_up(self, answer: VictimsAnswer | Failure, candidates: Rows) -> NDArray[np.bool_] | None:
        """[K] which may be evicted. A failure gives up none: so it is in Volcano, ignorable or not."""
        none = np.zeros(len(candidates), dtype=np.bool_)
        if isinstance(answer, Failure) or answer.status == _REJECT:
            self._ask_again()
            return none
        if answer.status != _PERMIT:
            return None
        uids = answer.uids()
        found = np.array([self._ssn.task_info(row).ref.uid in uids for row in candidates.tolist()], dtype=np.bool_)
        if not found.all():
            self._ask_again()
        return found

    def _note_kept(
        self, whose: tuple[str, int], candidates: Rows, may_go: NDArray[np.bool_], answer: VictimsAnswer | Failure
    ) -> None:
        """For messages; the last answer about a pod counts."""
        kept, why = self._kept.setdefault(whose, {}), answer.why if isinstance(answer, Failure) else ""
        kept.update(dict.fromkeys(candidates[~may_go].tolist(), why))
        for row in candidates[may_go].tolist():
            kept.pop(row, None)

    # -- events ------------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        if self._is_off or not self._is_managed(placement.task_class):
            return
        tasks, nodes = self._ssn.ledger.tasks, dict(zip(placement.rows.tolist(), placement.nodes.tolist(), strict=True))
        for row, why in self._placements.gained([*nodes]).items():
            if tasks.status[row] in _PLACED:
                about = self._ssn.task_info(row).ref.uid, self._ssn.snapshot.nodes[nodes[row]].name
                self._unwanted[row] = said = self._texts.of(about, why)
                self._verdicts.refuse(placement.task_class, nodes[row], said)
                self._ask_again()

    def on_deallocate(self, placement: Placement) -> None:
        if self._is_off or not self._is_managed(placement.task_class):
            return
        rows = placement.rows.tolist()
        self._placements.lost(rows)
        for row in rows:
            self._unwanted.pop(row, None)

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _is_managed(self, task_class: TaskClass) -> bool:
        """Whether the extender is asked about such pods."""
        managed = self._given.managed_resources
        return not managed or any(name in managed for name, _ in task_class.signature.units)

    def _about(self, job: Job) -> Question:
        """A question about the job."""
        return Question(job.key, lambda: encode({"job": self._payloads.job(job)}))

    def _about_victims(self, evictor: Task, candidates: Rows) -> Question:
        task, info, rows = self._payloads.task, self._ssn.task_info, candidates.tolist()
        uids = tuple(info(row).ref.uid for row in rows)
        return Question(
            about=f"{info(evictor.row).key} {in_short(uids)}",
            make=lambda: encode({"evictor": task(evictor.row), "evictees": [task(row) for row in rows]}),
            among=uids,
        )

    def _ask_again(self, job: int | None = None) -> None:
        """A cycle is due in some seconds; `job`: the row of the only job that this is about."""
        self._ssn.wakeups.recheck_at(max(self._ssn.now + AGAIN, self._line.left_alone_until), job)

    @cached_property
    def _payloads(self) -> Payloads:
        return Payloads(self._ssn)

    @cached_property
    def _verdicts(self) -> NodeVerdicts:
        return NodeVerdicts(self._ssn, self._line, self._given, self._payloads, self._texts)

    @cached_property
    def _texts(self) -> Texts:
        return Texts(self.memory, self._ssn.now)

    @cached_property
    def _placements(self) -> Placements:
        return Placements(self._line, self._given, self._payloads)


def _it(pods: int) -> str:
    return "it" if pods == 1 else "them"
