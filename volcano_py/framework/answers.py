"""What holds when a plugin fails at an extension point, and which answers count as a failure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.framework.gates import Gate, shut
from volcano_py.framework.leanings import Leaning
from volcano_py.framework.votes import Room, reject
from volcano_py.state.task_class import Refusal

PLUGIN_ERROR_CODE: Final = 1
"""Code of the refusal «a plugin failed», see refusals.py."""


class _NoKey:
    """Stands where a plugin failed to give a key. It equals every key, so that the next one decides."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__


_NO_KEY: Final = _NoKey()


def _refusal(plugin: str) -> Refusal:
    return Refusal(Reason.PLUGIN_ERROR, f"plugin {plugin} failed; see the scheduler's log")


def _nobody(_plugin: str, _task: Any, candidates: Any) -> Any:
    return np.zeros(len(candidates), dtype=np.bool_)


# Called with the plugin's name and the arguments of the call. Nothing is let through on account of a plugin that
# failed, and its orders and scores count for nothing.
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
    "predicate_room": lambda _plugin, _task_class, _view: None,
    "domain_gate": lambda _plugin, _task_class, view: shut(len(view), PLUGIN_ERROR_CODE),
    "node_order": lambda _plugin, _task_class, view: np.zeros(len(view)),
    "batch_node_order": lambda _plugin, _task_class, _view: None,
    "domain_order": lambda _plugin, _task_class, _view: None,
    "best_node": lambda _plugin, _task_class, _view, _scores: None,
    "preemptable": _nobody,
    "reclaimable": _nobody,
    "victim_queue_order": lambda _plugin, _queue, _preemptor: _NO_KEY,
    "victim_tasks": lambda _plugin, _running: {},
    "spared_tasks": lambda _plugin, victims: np.ones(len(victims), dtype=np.bool_),
    "on_allocate": lambda _plugin, _placement: None,
    "on_deallocate": lambda _plugin, _placement: None,
}


class NonsenseError(ValueError):
    """A plugin's answer that cannot be used; raised and taken as if the plugin itself had raised."""


def _array(answer: Any, asked: Any) -> None:
    if type(answer) is not np.ndarray or answer.shape != (len(asked),):
        shape = f"an array of shape {answer.shape}" if isinstance(answer, np.ndarray) else type(answer).__name__
        raise NonsenseError(f"the answer is {shape}, expected an array with one element for each of the {len(asked)}")


def _integers(answer: Any, asked: Any) -> None:
    _array(answer, asked)
    if answer.dtype.kind != "i":
        raise NonsenseError(f"the answer is of {answer.dtype}, expected integers")


def _integers_or_none(answer: Any, asked: Any) -> None:
    if answer is not None:
        _integers(answer, asked)


def _scores(answer: Any, asked: Any) -> None:
    _array(answer, asked)
    # The dot product is finite when all scores are, and an order of magnitude cheaper than asking each of them.
    if not math.isfinite(answer.dot(answer)) and not np.isfinite(answer).all():
        raise NonsenseError("there is a score that is no finite number")


def _scores_or_none(answer: Any, asked: Any) -> None:
    if answer is not None:
        _scores(answer, asked)


def _mask_or_none(answer: Any, asked: Any) -> None:
    if answer is not None:
        _array(answer, asked)
        if answer.dtype.kind != "b":
            raise NonsenseError(f"the answer is {answer.dtype}, expected true or false for each candidate")


def _gate_or_none(answer: Any, asked: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, Gate):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a Gate or None")
    _integers(answer.groups, asked)
    if len(asked) and not 0 <= int(answer.groups.min()) <= int(answer.groups.max()) < len(answer.codes):
        raise NonsenseError("there is a group number without a code")


def _leaning_or_none(answer: Any, asked: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, Leaning):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a Leaning or None")
    _integers(answer.groups, asked)
    if len(asked) and not 0 <= int(answer.groups.min()) <= int(answer.groups.max()) < answer.size:
        raise NonsenseError(f"there is a group number that is not below {answer.size}, the number of groups")


def _texts_or_none(answer: Any, asked: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, list | tuple) or len(answer) != len(asked):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a text for each of the {len(asked)}")
    if not all(isinstance(text, str) for text in answer):
        raise NonsenseError("there is something that is no text")


def _mask(answer: Any, asked: Any) -> None:
    _mask_or_none(answer, asked)
    if answer is None:
        raise NonsenseError(f"the answer is None, expected true or false for each of the {len(asked)}")


def _sentences(answer: Any, asked: Any) -> None:
    if not isinstance(answer, Mapping) or not all(isinstance(text, str) for text in answer.values()):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a sentence for each victim")
    if strangers := set(answer) - set(asked.tolist()):
        raise NonsenseError(f"{len(strangers)} of the victims are none of the {len(asked)} running tasks")


def _position_or_none(answer: Any, asked: Any) -> None:
    if answer is not None and not (isinstance(answer, int | np.integer) and 0 <= answer < len(asked)):
        raise NonsenseError(f"the answer is {answer!r}, expected a position among the {len(asked)} nodes")


# Called with the answer and the last argument of the call.
CHECKS: Final[dict[str, Callable[[Any, Any], None]]] = {
    "task_order": _array,
    "task_variants": _texts_or_none,
    "predicate": _integers,
    "predicate_room": _integers_or_none,
    "domain_gate": _gate_or_none,
    "node_order": _scores,
    "batch_node_order": _scores_or_none,
    "domain_order": _leaning_or_none,
    "best_node": _position_or_none,
    "preemptable": _mask_or_none,
    "reclaimable": _mask_or_none,
    "victim_tasks": _sentences,
    "spared_tasks": _mask,
}
