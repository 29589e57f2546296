"""reclaim: evict what queues hold beyond their share, for starving jobs of queues below theirs."""

from __future__ import annotations

from typing import ClassVar

from volcano_py.actions.eviction_arguments import EvictionArguments, unit_rules
from volcano_py.config.arguments import Arguments
from volcano_py.framework.action import Action
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.explaining.complete import explain_complete
from volcano_py.framework.eviction.explaining.kept_out import explain_kept_out
from volcano_py.framework.eviction.runs.eviction_run import EvictionRun
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.starving import waiting_jobs
from volcano_py.framework.ordering.namespace_order import waiting_in
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.framework.session import Session
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.table import Rows


class Reclaim(Action):
    """Queues take turns in queue order, each with its best starving job; one that had its share gets none."""

    name = "reclaim"
    arguments_type: ClassVar[type[Arguments]] = EvictionArguments

    def execute(self, ssn: Session) -> None:
        explain_kept_out(ssn, self.name, "reclaimable")
        by_queue, complete = waiting_jobs(ssn)
        explain_complete(ssn, self.name, complete)
        if not by_queue:
            return
        pool = Candidates(ssn, unit_rules(ssn, self.arguments))
        run = EvictionRun(ssn, pool, self.scheme(ssn, pool), by_queue)
        waiting = {
            name: waiting_in(ssn, ssn.queues[name], works, job_of=lambda work: work.job)
            for name, works in by_queue.items()
        }
        queues = queue_order(ssn, (ssn.queues[name] for name in waiting))
        while queues:
            queue = queues.pop()
            works = waiting[queue.name]
            if not works or ssn.ask.overused(queue):
                continue
            run.evict_for(works.pop())
            queues.push(queue)

    def scheme(self, ssn: Session, pool: Candidates) -> Scheme:
        """What its evictions go by."""

        def may_take(queue: QueueInfo, rows: Rows) -> bool:
            return not ssn.ask.overused(queue) and ssn.ask.preemptive(queue, rows)

        return Scheme(self.name, "reclaimable", pool.in_other_queues, may_take, lambda queue: queue.reclaimable)
