"""Which answers of plugins make no sense: they count as if the plugin had raised.

What is let through here goes into sorts, sums and sentences outside of any guard, where it must not break anything.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.domain_scores import DomainScore
from volcano_py.framework.eviction.units import Verdict
from volcano_py.framework.plugin import GoesBy, Reach
from volcano_py.framework.votes import Ballot, Room, Vote
from volcano_py.state.task_class import Refusal

Check = Callable[[Any, Any], None]
"""Called with the answer and the last argument of the call; raises NonsenseError."""


class NonsenseError(ValueError):
    """A plugin's answer that cannot be used; raised and taken as if the plugin itself had raised."""


def is_interrupt(error: BaseException) -> bool:
    """Whether it is Ctrl-C, which can interrupt the main thread anywhere, rather than a failure of a plugin.

    Everything else that comes out of a plugin is its failure, such as SystemExit, which would end the daemon.
    """
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


# -- orders --------------------------------------------------------------------------------------------------------

_NUMBER: Final = "a number"
_TEXT: Final = "a text"
_PLAIN: Final = frozenset({int, bool, float, str})


class Keys:
    """Checks the keys of one plugin at one point. They are compared with each other, so that all have to be alike.

    Asked for every key of every turn: types that were found to be alike are not looked into again.
    """

    __slots__ = ("_known", "_shape")

    def __init__(self) -> None:
        self._shape: Any = None
        self._known: set[Any] = set()

    def __call__(self, key: Any, _asked: Any) -> None:
        kind: Any = type(key)
        if kind is tuple:
            kind = tuple(map(type, key))
            if kind in self._known:
                for part in key:
                    if part != part:  # (of all plain values only NaN is another than itself)
                        raise NonsenseError(_NAN)
                return
        elif kind in self._known:
            if key != key:
                raise NonsenseError(_NAN)
            return
        shape = _shape(key)
        if self._shape is None:
            self._shape = shape
        elif not _comparable(shape, self._shape):
            raise NonsenseError(f"the key {key!r} cannot be compared with an earlier one, {_said(self._shape)}")
        if kind in _PLAIN or (isinstance(kind, tuple) and _PLAIN.issuperset(kind)):
            self._known.add(kind)


_NAN: Final = "a key is not a number (NaN): it is neither before nor after others"


def _shape(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple([_shape(part) for part in key])
    if isinstance(key, str):
        return _TEXT
    if isinstance(key, int | float | np.integer | np.floating | np.bool_):
        if key != key:
            raise NonsenseError(_NAN)
        return _NUMBER
    raise NonsenseError(f"a key is {type(key).__name__}, expected a number, a text or a tuple of them")


def _comparable(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(_comparable(*parts) for parts in zip(one, other, strict=False))
    return bool(one == other)


def _said(shape: Any) -> str:
    return shape if isinstance(shape, str) else "a tuple"


def _numbers(answer: Any, asked: Any) -> None:
    _array(answer, asked)
    if answer.dtype.kind not in "biuf":
        raise NonsenseError(f"the answer is of {answer.dtype}, expected numbers")


def _paths(answer: Any, _asked: Any) -> None:
    if not isinstance(answer, Mapping):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a path for each queue")
    for queue, path in answer.items():
        if not isinstance(path, tuple) or not all(isinstance(part, str) for part in path):
            raise NonsenseError(f"the path of queue {queue} is {path!r}, expected a tuple of names")


# -- votes and ceilings --------------------------------------------------------------------------------------------


def _yes_or_no(answer: Any, _asked: Any) -> None:
    if answer is not True and answer is not False and not isinstance(answer, np.bool_):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected true or false")


def _refusal_or_none(answer: Any, _asked: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, Refusal):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a Refusal or None")
    said: tuple[object, object] = answer.reason, answer.message
    if not isinstance(said[0], Reason) or not isinstance(said[1], str):
        raise NonsenseError(f"{answer!r} does not have a reason and a sentence")


def _ballot(answer: Any, asked: Any) -> None:
    if not isinstance(answer, Ballot) or not isinstance(answer.vote, Vote):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a Ballot")
    _refusal_or_none(answer.refusal, asked)


def _room(answer: Any, asked: Any) -> None:
    if not isinstance(answer, Room):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a Room")
    _whole(answer.count, asked)
    _refusal_or_none(answer.refusal, asked)
    if not isinstance(answer.ceiling, str):
        raise NonsenseError(f"the ceiling is that of a {type(answer.ceiling).__name__}, expected the name of a queue")
    if answer.short is not None:
        for each in answer.short:
            _whole(each, asked)
        dim, units = answer.short
        if not (0 <= dim < len(asked.request) and units > 0):
            raise NonsenseError(f"{units} units of resource {dim} are short, expected some of one that there is")
    if answer.meanwhile is not None:
        _room(answer.meanwhile, asked)


def _whole(answer: Any, _asked: Any) -> None:
    if not isinstance(answer, int | np.integer):
        raise NonsenseError(f"one of the numbers is {type(answer).__name__}, expected a whole number")


# -- nodes and victims ---------------------------------------------------------------------------------------------


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


_NOT_FINITE: Final = "a score is not a finite number"


def _scores(answer: Any, asked: Any) -> None:
    _numbers(answer, asked)
    # The dot product is finite when all scores are, and an order of magnitude cheaper than asking each of them.
    if not math.isfinite(answer.dot(answer)) and not np.isfinite(answer).all():
        raise NonsenseError(_NOT_FINITE)


def _scores_of_classes(answer: Any, asked: Any) -> None:
    if type(answer) is not np.ndarray or answer.ndim != 2 or answer.dtype.kind not in "biuf":
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected numbers by class and node")
    if answer.shape != (len(asked.classes), len(asked)):
        raise NonsenseError(f"the answer has the shape {answer.shape}, expected {len(asked.classes)} × {len(asked)}")
    if not np.isfinite(answer).all():
        raise NonsenseError(_NOT_FINITE)


def _scores_or_none(answer: Any, asked: Any) -> None:
    if answer is not None:
        _scores(answer, asked)


def _mask_or_none(answer: Any, asked: Any) -> None:
    if answer is not None:
        _array(answer, asked)
        if answer.dtype.kind != "b":
            raise NonsenseError(f"the answer is {answer.dtype}, expected true or false for each candidate")


def _verdict_or_none(answer: Any, asked: Any) -> None:  # noqa: ARG001
    if answer is not None and not isinstance(answer, Verdict):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a Verdict or None")


def _domain_filter_or_none(answer: Any, asked: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, DomainFilter):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a DomainFilter or None")
    _integers(answer.groups, asked)
    codes: object = answer.codes
    if not isinstance(codes, np.ndarray) or codes.ndim != 1 or codes.dtype.kind != "i":
        raise NonsenseError("the codes of a DomainFilter are not an array of integers")
    if len(asked) and not 0 <= int(answer.groups.min()) <= int(answer.groups.max()) < len(answer.codes):
        raise NonsenseError("a group number has no code")


def _domain_score_or_none(answer: Any, asked: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, DomainScore):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a DomainScore or None")
    _whole(answer.size, asked)
    _integers(answer.groups, asked)
    if len(asked) and not 0 <= int(answer.groups.min()) <= int(answer.groups.max()) < answer.size:
        raise NonsenseError(f"a group number is not below {answer.size}, the number of groups")


def _gathering_or_none(answer: Any, _asked: Any) -> None:
    if answer is not None and not isinstance(answer, DomainScore):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a DomainScore or None")


def _texts_or_none(answer: Any, asked: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, list | tuple) or len(answer) != len(asked):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a text for each of the {len(asked)}")
    if not all(isinstance(text, str) for text in answer):
        raise NonsenseError("one of them is not a text")


def _texts(answer: Any, _asked: Any) -> None:
    if not isinstance(answer, list | tuple) or not all(isinstance(text, str) for text in answer):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a list of sentences")


def _mask(answer: Any, asked: Any) -> None:
    _mask_or_none(answer, asked)
    if answer is None:
        raise NonsenseError(f"the answer is None, expected true or false for each of the {len(asked)}")


def _sentences(answer: Any, asked: Any) -> None:
    if not isinstance(answer, Mapping) or not all(isinstance(text, str) for text in answer.values()):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a sentence for each victim")
    if strangers := set(answer) - set(asked.tolist()):
        raise NonsenseError(f"{len(strangers)} of the victims are not among the {len(asked)} running tasks")


def _position_or_none(answer: Any, asked: Any) -> None:
    if answer is not None and not (isinstance(answer, int | np.integer) and 0 <= answer < len(asked)):
        raise NonsenseError(f"the answer is {answer!r}, expected a position among the {len(asked)} nodes")


def _one_of(kind: type[Enum]) -> Check:
    def check(answer: Any, _asked: Any) -> None:
        if not isinstance(answer, kind):
            raise NonsenseError(f"the answer is {type(answer).__name__}, expected a {kind.__name__}")

    return check


def mapping_of(answer: Any, kind: Any) -> dict[str, Any]:
    """The answer, a mapping to values of `kind`.

    Raises:
        NonsenseError: it is not one.
    """
    if not isinstance(answer, Mapping):
        raise NonsenseError(f"the answer is {type(answer).__name__}, expected a mapping")
    if strange := [value for value in answer.values() if not isinstance(value, kind)]:
        raise NonsenseError(f"a value is {strange[0]!r}, expected {kind}")
    return dict(answer)


_CHECKS: Final[Mapping[str, Check]] = {
    "queue_paths": _paths,
    "task_order": _numbers,
    "job_valid": _refusal_or_none,
    "job_enqueueable": _ballot,
    "job_ready": _yes_or_no,
    "tasks_to_ready": _whole,
    "job_pipelined": _ballot,
    "job_starving": _yes_or_no,
    "overused": _yes_or_no,
    "allocatable": _room,
    "preemptive": _yes_or_no,
    "task_variants": _texts_or_none,
    "pre_predicate": _refusal_or_none,
    "predicate": _integers,
    "late_predicate": _integers,
    "predicate_room": _integers_or_none,
    "domain_filter": _domain_filter_or_none,
    "predicate_advice": _texts,
    "node_order": _scores,
    "node_orders": _scores_of_classes,
    "batch_node_order": _scores_or_none,
    "domain_order": _domain_score_or_none,
    "best_node": _position_or_none,
    "hyper_node_gradient": _mask,
    "hyper_node_order": _scores,
    "gathering_order": _gathering_or_none,
    "preemptable": _mask_or_none,
    "reclaimable": _mask_or_none,
    "victim_tasks": _sentences,
    "spared_tasks": _mask,
    # questions about answers at these points
    "branch_epoch": _whole,
    "predicate_reach": _one_of(Reach),
    "predicate_goes_by": _one_of(GoesBy),
    "predicate_for_good": _integers_or_none,
    "batch_node_order_reach": _one_of(Reach),
    "scores_nodes_alone": _yes_or_no,
    "possible_victims": _mask_or_none,
    "refused_victims": _mask_or_none,
    "refuses_together": _refusal_or_none,
    "certainly_valid": _mask_or_none,
    "certainly_ready": _mask_or_none,
    "judge_unit": _verdict_or_none,
}
_KEYED: Final = frozenset({"job_order", "queue_order", "branch_order", "namespace_order", "victim_queue_order"})
NOTIFIED: Final = frozenset({"job_enqueued", "on_allocate", "on_deallocate"})
"""Points at which plugins are only notified: there is no answer to check."""


def check_of(point: str) -> Check | None:
    """The check of one plugin's answers at this point, for one cycle."""
    return Keys() if point in _KEYED else _CHECKS.get(point)
