"""The answers that count when a plugin fails at an extension point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import plugin_failed
from volcano_py.framework.domain_filters import closed_filter
from volcano_py.framework.votes import Room, reject
from volcano_py.state.task_class import Refusal

PLUGIN_ERROR_CODE: Final = 1
"""Code of the refusal «a plugin failed», see refusals.py."""


class _NoKey:
    """The key of a plugin that failed to give one. It equals every key, so that the next plugin decides."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__


_NO_KEY: Final = _NoKey()


def _refusal(plugin: str) -> Refusal:
    return Refusal(Reason.PLUGIN_ERROR, plugin_failed(plugin))


def _no_victims(_plugin: str, _task: Any, candidates: Any) -> Any:
    return np.zeros(len(candidates), dtype=np.bool_)


# Called with the plugin's name and the arguments of the call. A plugin that failed lets nothing through, and its orders
# and scores are neutral.
CLOSED: Final[dict[str, Callable[..., Any]]] = {
    "job_order": lambda _plugin, _job: _NO_KEY,
    "queue_order": lambda _plugin, _queue: _NO_KEY,
    "queue_paths": lambda _plugin: {},
    "branch_order": lambda _plugin, _path: _NO_KEY,
    "namespace_order": lambda _plugin, _queue, _namespace: _NO_KEY,
    "task_order": lambda _plugin, rows: np.zeros(len(rows)),
    "job_valid": lambda plugin, _job: _refusal(plugin),
    "job_enqueueable": lambda plugin, _job: reject(Reason.PLUGIN_ERROR, _refusal(plugin).message),
    "job_enqueued": lambda _plugin, _job: None,
    "job_ready": lambda _plugin, _job: False,
    "tasks_to_ready": lambda _plugin, _job: 1,
    "job_pipelined": lambda plugin, _job: reject(Reason.PLUGIN_ERROR, _refusal(plugin).message),
    "job_starving": lambda _plugin, _job: False,
    "overused": lambda _plugin, _queue: True,
    "allocatable": lambda plugin, _queue, _task_class: Room(0, _refusal(plugin)),
    "preemptive": lambda _plugin, _queue, _tasks: False,
    "task_variants": lambda _plugin, _ssn, _job, _rows: None,
    "pre_predicate": lambda plugin, _task_class: _refusal(plugin),
    "predicate": lambda _plugin, _task_class, view: np.full(len(view), PLUGIN_ERROR_CODE, dtype=np.int32),
    "late_predicate": lambda _plugin, _task_class, view: np.full(len(view), PLUGIN_ERROR_CODE, dtype=np.int32),
    "predicate_room": lambda _plugin, _task_class, _view: None,
    "domain_filter": lambda _plugin, _task_class, view: closed_filter(len(view), PLUGIN_ERROR_CODE),
    "predicate_advice": lambda _plugin, _task_class, _refused: (),
    "node_order": lambda _plugin, _task_class, view: np.zeros(len(view)),
    "node_orders": lambda _plugin, view: np.zeros((len(view.classes), len(view))),
    "batch_node_order": lambda _plugin, _task_class, _view: None,
    "domain_order": lambda _plugin, _task_class, _view: None,
    "best_node": lambda _plugin, _task_class, _view, _scores: None,
    "hyper_node_gradient": lambda _plugin, _limit, tree: np.zeros(len(tree), dtype=np.bool_),
    "hyper_node_order": lambda _plugin, _request, _tree, domains: np.zeros(len(domains)),
    "gathering_order": lambda _plugin, _tree, _placed, _pods: None,
    "preemptable": _no_victims,
    "reclaimable": _no_victims,
    "victim_queue_order": lambda _plugin, _queue, _preemptor: _NO_KEY,
    "victim_tasks": lambda _plugin, _running: {},
    "spared_tasks": lambda _plugin, victims: np.ones(len(victims), dtype=np.bool_),
    "on_allocate": lambda _plugin, _placement: None,
    "on_deallocate": lambda _plugin, _placement: None,
}
