"""Whatever plugins answer, and however they leave: it is theirs, they are named, and no action or cycle fails of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from structlog.testing import capture_logs

from tests.support.cycles import Cycles
from tests.support.registries import checked_registry
from tests.support.sessions import gang, node, queue
from volcano_py.api.report import NamespaceShare
from volcano_py.config.flags import Flags
from volcano_py.framework.calls.answer_checks import NOTIFIED, Keys, NonsenseError, check_of, mapping_of
from volcano_py.framework.calls.answers import CLOSED
from volcano_py.framework.calls.dispatch import Call, PluginFailures
from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.plugin import POINTS, Plugin
from volcano_py.framework.votes import Ballot, Room

NONSENSE: Final[dict[str, Callable[[], Any]]] = {
    "an object": object,
    "not a number": lambda: float("nan"),
    "seven zeros": lambda: np.zeros(7),
    "objects": lambda: np.array([object(), object()]),
    "a mapping": lambda: {1: 2},
    "a generator": lambda: (letter for letter in "ab"),
    "a room without a count": lambda: Room(None),  # type: ignore[arg-type]
    "a room that is short of a name": lambda: Room(0, None, ("cpu", 1)),  # type: ignore[arg-type]
    "a room below no queue's ceiling": lambda: Room(0, None, None, None),  # type: ignore[arg-type]
    "a ballot without a vote": lambda: Ballot("yes"),  # type: ignore[arg-type]
}
QUESTIONS: Final = (
    "branch_epoch",
    "predicate_reach",
    "batch_node_order_reach",
    "scores_nodes_alone",
    "possible_victims",
    "refused_victims",
    "refuses_together",
    "certainly_valid",
    "certainly_ready",
)


@pytest.mark.parametrize("point", sorted({*POINTS, *QUESTIONS} - NOTIFIED))
@pytest.mark.parametrize("nonsense", NONSENSE)
def test_it_is_found_at_every_point(point: str, nonsense: str) -> None:
    check = check_of(point)
    assert check is not None
    with pytest.raises(NonsenseError):
        check(NONSENSE[nonsense](), np.arange(2))


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([1, "x"], id="a number and a text"),
        pytest.param([(1, 2), 1], id="a tuple and a number"),
        pytest.param([(1, "x"), (1, 2)], id="tuples that differ within"),
        pytest.param([(1,), 1], id="a tuple of one and a number"),
        pytest.param([1.0, float("nan")], id="one that is not a number"),
        pytest.param([(1, 2.0), (1, 3.0), (1, float("nan"))], id="one within a tuple that is not a number"),
        pytest.param([(0, (1.0, None))], id="something deep within"),
        pytest.param([1 + 2j], id="a complex number"),
    ],
)
def test_keys_that_cannot_be_compared_are_refused(keys: list[Any]) -> None:
    check = Keys()
    for key in keys[:-1]:
        check(key, None)
    with pytest.raises(NonsenseError):
        check(keys[-1], None)


def test_keys_that_can_be_compared_pass() -> None:
    for keys in ([1, 2.5, np.float64(3), True], ["a", "b"], [(1, "x"), (np.int64(2), "y", 3), (0.5,)]):
        check = Keys()
        for key in keys:
            check(key, None)


def test_a_domain_filter_needs_codes_that_are_numbers() -> None:
    check = check_of("domain_filter")
    assert check is not None
    with pytest.raises(NonsenseError, match="not an array of integers"):
        check(DomainFilter(np.zeros(2, dtype=np.intp), [0], object), np.arange(2))  # type: ignore[arg-type]


@pytest.mark.parametrize("reported", [None, ["a"], {"a": 1}, {"a": None}])
def test_reports_about_namespaces_have_to_be_shares(reported: Any) -> None:
    with pytest.raises(NonsenseError):
        mapping_of(reported, NamespaceShare)


# -- whole cycles ------------------------------------------------------------------------------------------------------

OTHERS: Final = ("priority", "gang", "conformance", "predicates", "proportion", "nodeorder", "drf", "tdm")
ACTIONS: Final = ("enqueue", "allocate", "preempt", "reclaim", "backfill", "shuffle")
REACHED: Final = sorted(
    {*POINTS}
    - {"namespace_order", "predicate_room", "preemptable", "reclaimable", "victim_queue_order"}
    - {"hyper_node_gradient", "hyper_node_order", "gathering_order", "node_orders"}
)
"""The others are asked in rare moments, where a switch is on, of HyperNodes or of many classes; see above for them."""


class Leaves(BaseException):
    """As other libraries have them, so that nothing catches them."""


def a_busy_cycle(point: str, method: Callable[..., Any]) -> Cycles:
    """Queues that are over their share, gangs that wait, preempt and reclaim, and a plugin that does that."""
    members: dict[str, Any] = {"name": "odd", point: method}
    if point == "branch_order":
        members["queue_paths"] = lambda _self: {}
    odd = type("Odd", (Plugin,), members)
    plugins, actions = checked_registry().plugins, checked_registry().actions
    return Cycles(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        node("shut", cpu="0", unschedulable=True),
        queue("rich", weight=3),
        queue("poor"),
        gang("runs", pods=3, cpu="1", running_on=["n1"] * 3, queue="poor", min_member=1),
        gang("runs-too", pods=4, cpu="1", running_on=["n2"] * 4, queue="poor", min_member=1),
        gang("important", pods=2, cpu="1", queue="rich", priority=1000),
        gang("waits", pods=2, cpu="1", queue="rich"),
        gang("comes", cpu="500m", group_phase="Pending", min_resources={"cpu": "500m"}),
        gang("light", queue="poor"),
        gang("claims", pods=2, cpu="1", queue="poor", priority=1000),
        actions=[actions[name] for name in ACTIONS],
        plugins=[odd, *(plugins[name] for name in OTHERS)],
    )


def nothing_else_fails(cycles: Cycles) -> None:
    with capture_logs() as logs:
        report = cycles.run()
    assert set(report.plugin_errors) == {"odd"}
    assert not report.action_errors, logs
    assert [entry["plugin"] for entry in logs if entry["log_level"] == "error"] == ["odd"]
    assert cycles.state.drift() == 0


@pytest.mark.parametrize("point", sorted({*REACHED} - NOTIFIED))
def test_invalid_answers_cost_no_other_job_a_cycle(point: str) -> None:
    nothing_else_fails(a_busy_cycle(point, lambda *_: object()))


@pytest.mark.parametrize("point", [*REACHED, "__init__", "on_session_open", "on_session_close", "describe_namespaces"])
@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), GeneratorExit(), Leaves()], ids=repr)
def test_a_plugin_that_would_end_the_process_is_closed(point: str, error: BaseException) -> None:
    def leave(*_: Any) -> Any:
        raise error

    nothing_else_fails(a_busy_cycle(point, leave))


def test_answers_of_a_plugin_that_is_not_checked_are_taken_as_they_are() -> None:
    odd = type("Odd", (Plugin,), {"name": "odd", "tasks_to_ready": lambda *_: "many"})(None, Flags())
    failures = PluginFailures()
    assert Call(odd, "tasks_to_ready", 0, failures, is_checked=False)(None) == "many"
    assert not failures.counts
    assert Call(odd, "tasks_to_ready", 0, failures)(None) == CLOSED["tasks_to_ready"]("odd", None)
    assert failures.counts == {"odd": 1}
