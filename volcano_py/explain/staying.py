"""Whether those that run instead may be evicted for the workload, and if not, why: asked of the configured actions."""

from __future__ import annotations

from volcano_py.actions.eviction_arguments import unit_rules
from volcano_py.actions.preempt import Preempt
from volcano_py.actions.reclaim import Reclaim
from volcano_py.api.wording.explain_evictions import no_lesser_priority
from volcano_py.explain.target import Target
from volcano_py.explain.world import World
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.explaining.keeping import Keeping
from volcano_py.framework.job import Job
from volcano_py.state.status import TaskStatus


class Staying:
    """Answers for one workload; each action that is configured is set up once."""

    def __init__(self, world: World, target: Target) -> None:
        self._world = world
        self._job = world.jobs.get(target.group)
        self._known: dict[type[Preempt | Reclaim], Keeping | None] = {}

    def why(self, holder: Job) -> str:
        """Why its pods stay, as a clause; empty where they may go."""
        if self._job is None or not self._job.pending_tasks:
            return "nothing is evicted for a workload without waiting pods"
        kind = Preempt if holder.queue is self._job.queue else Reclaim
        if kind not in self._known:
            self._known[kind] = self._keeping(self._job, kind)
        keeping = self._known[kind]
        if keeping is None:
            if kind is Preempt and holder.priority > self._job.priority:
                return no_lesser_priority(holder.priority, self._job.priority)
            return f"the configuration has no action {kind.name}"
        return keeping.takes_nothing or keeping.why(holder)

    def _keeping(self, job: Job, kind: type[Preempt | Reclaim]) -> Keeping | None:
        """None where no such action is configured."""
        ssn, configuration = self._world.session, self._world.configuration
        rows = ssn.tasks_of(job)
        rows = rows[ssn.ledger.tasks.status[rows] == TaskStatus.PENDING]
        for name in configuration.actions:
            found = self._world.registry.actions[name]
            if issubclass(found, kind):
                ssn.action = name
                arguments = configuration.configurations.get(name)
                action = found(arguments if arguments is not None else found.arguments_type())
                pool = Candidates(ssn, unit_rules(ssn, action.arguments))
                return Keeping(ssn, pool, action.scheme(ssn, pool), job, rows)
        return None
