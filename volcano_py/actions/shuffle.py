"""shuffle: evict running tasks that plugins name, whether or not pods wait."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.action import Action
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Motive
from volcano_py.state.status import TaskStatus


class Shuffle(Action):
    """Offers all running tasks to the plugins, except those whose eviction failed a moment ago; what the first tier
    with any names is evicted, unless it is spared."""

    name = "shuffle"

    def execute(self, ssn: Session) -> None:
        tasks = ssn.ledger.tasks
        ripe = tasks.retry_at <= ssn.now
        running = np.flatnonzero((tasks.status == TaskStatus.RUNNING) & (tasks.job >= 0) & ripe)
        running = running[np.isin(tasks.job[running], ssn.job_rows())]
        if not len(running):
            return
        statement = ssn.statement()
        for row, why in sorted(ssn.ask.victim_tasks(running).items()):
            job = ssn.job(int(tasks.job[row]))
            assert job is not None, "only tasks with a PodGroup and a queue are offered"
            statement.evict(job, ssn.task_class(row), np.array([row], dtype=np.intp), Motive(self.name, why))
        statement.commit()
