"""Real load of nodes: thresholds, scores, estimates of what is not measured yet, and data that are too old."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.node_answers import answers, class_of, node_rows, refusing_for_good, scores, willing
from tests.support.registries import checked_registry
from tests.support.sessions import NOW, Opened, gang, node, open_session, pod
from volcano_py.api.objects import Condition, Container, NodeMetrics, ObjectMeta, PodSpec, ResourceRequirements
from volcano_py.config.fields.reading import read_arguments
from volcano_py.config.parse import parse_configuration
from volcano_py.framework.views import NodeView
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.usage import Usage
from volcano_py.plugins.usage.arguments import UsageArguments
from volcano_py.plugins.usage.estimates import Estimator
from volcano_py.state.classes.limits import pod_limits
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.nodes.loads import FRESH_FOR, Load
from volcano_py.state.table.change import Change

MOMENT = NOW.timestamp()


def load(cpu: float | None = 0.0, memory: float | None = 0.0, age: float = 0.0) -> Load:
    return Load(cpu, memory, MOMENT - age)


def opened_with(loads: dict[str, Load], *objects: Any, **arguments: Any) -> Opened:
    written = {key.replace("__", "."): value for key, value in arguments.items()}
    return open_session(
        *(node(name, cpu="10", memory="100Gi") for name in ("a", "b", "c")),
        gang("job", pods=6, cpu="1", memory="10Gi"),
        *objects,
        tiers=[[Gang, (Usage, {"arguments": written})]],
        prepare=lambda state: state.measured(loads),
    )


# -- the predicate -------------------------------------------------------------------------------------------------


def test_beyond_a_threshold_a_node_takes_no_more_and_at_it_it_does() -> None:
    opened = opened_with({"a": load(0.8, 0.8), "b": load(0.801, 0.9), "c": load(0.1, 0.81)})
    assert answers(opened, Usage, "job-0") == {
        "a": "",
        "b": "node(s) had more than 80 % of their CPU in use",
        "c": "node(s) had more than 80 % of their memory in use",
    }


def test_evictions_do_not_help_against_load() -> None:
    opened = opened_with({"a": load(0.9), "b": load(0.1)})
    assert refusing_for_good(opened, Usage, "job-0") == ["a"]


def test_the_defaults_are_volcanos() -> None:
    written = {
        "usage.weight": 5,
        "cpu.weight": 1,
        "memory.weight": 1,
        "thresholds": {"cpu": 80, "mem": 80},
        "estimator": {
            "request_ratio": 0.7,
            "burst_ratio": 0.0,
            "risk_threshold": 0.6,
            "risk_factor": 1.2,
            "be_cpu": "250m",
            "be_mem": "200Mi",
        },
    }
    arguments, problems = read_arguments(UsageArguments, written)
    assert problems == ()
    assert arguments == UsageArguments()


def test_thresholds_are_configured() -> None:
    loads = {"a": load(0.5, 0.5), "b": load(0.2, 0.2)}
    assert willing(opened_with(loads, thresholds={"cpu": 40, "mem": 100}), Usage, "job-0") == ["b", "c"]
    assert willing(opened_with(loads, thresholds={"mem": 10}), Usage, "job-0") == ["c"]


@pytest.mark.parametrize(("age", "counts"), [(0, True), (FRESH_FOR - 1, True), (FRESH_FOR, False), (1e9, False)])
def test_old_data_do_not_count(age: float, counts: bool) -> None:
    opened = opened_with({"a": load(0.9, 0.1, age), "b": load(0.1, 0.1, age)})
    assert willing(opened, Usage, "job-0") == (["b", "c"] if counts else ["a", "b", "c"])
    assert (scores(opened, Usage, "job-0")["b"] > 0) is counts
    assert opened.ssn.wakeups.next_recheck == (MOMENT - age + FRESH_FOR if counts else 0)


# -- the score -----------------------------------------------------------------------------------------------------


def test_the_score_is_the_weighted_mean_of_what_is_free() -> None:
    loads = {"a": load(0.2, 0.6), "b": load(0.0, 0.0), "c": load(None, 0.3)}
    found = scores(opened_with(loads, usage__weight=2, cpu__weight=3, memory__weight=1), Usage, "job-0")
    assert found == pytest.approx({"a": (0.8 * 3 + 0.4) / 4 * 200, "b": 200, "c": 0})


@pytest.mark.parametrize("off", [{"usage__weight": 0}, {"cpu__weight": 0, "memory__weight": 0}])
def test_weights_of_0_switch_it_off(off: dict[str, int]) -> None:
    assert set(scores(opened_with({"a": load()}, **off), Usage, "job-0").values()) == {0.0}


# -- estimates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "limits", "ratios", "risky", "expected"),
    [
        pytest.param((1000, 1000), (0, 0), {}, False, (700, 700), id="a part of the request"),
        pytest.param(
            (1000, 1000), (2000, 0), {"burst_ratio": 0.5}, False, (1200, 700), id="and of what is up to the limit"
        ),
        pytest.param((1000, 1000), (0, 0), {}, True, (840, 840), id="more at risk"),
        pytest.param((1000, 1000), (1000, 1000), {"request_ratio": 1}, True, (1000, 1000), id="never beyond the limit"),
        pytest.param((0, 0), (0, 0), {}, False, (250, 200 * 2**20), id="without requests"),
        pytest.param((0, 0), (100, 0), {}, False, (100, 200 * 2**20), id="without requests, limited"),
    ],
)
def test_what_a_pod_is_expected_to_use(
    request_: tuple[int, int], limits: tuple[int, int], ratios: dict[str, float], risky: bool, expected: tuple[int, int]
) -> None:
    arguments = UsageArguments(**ratios)  # type: ignore[arg-type]
    estimate = Estimator(arguments).of(np.array([*request_, 1]), limits)
    assert estimate.on(np.array([risky]), arguments.risk_factor).tolist() == [list(expected)]


def test_pods_placed_since_the_measurement_are_added_and_others_are_not() -> None:
    pods = gang("new", pods=2, cpu="1", memory="10Gi", running_on=["a", "b"], phase="Pending")
    old = gang("old", pods=1, cpu="5", memory="10Gi", running_on=["c"])
    opened = opened_with({name: load() for name in "abc"}, pods, old)
    assert scores(opened, Usage, "job-0") == pytest.approx({"a": 500 * 0.93, "b": 500 * 0.93, "c": 500})


def scheduled(seconds_after_the_measurement: float, on: str, **fields: Any) -> Any:
    made = pod("new", on=on, cpu="1", memory="10Gi", **fields)
    moment = NOW + timedelta(seconds=seconds_after_the_measurement - 100)
    reported = Condition(type="PodScheduled", status="True", last_transition_time=moment)
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=[reported]))


@pytest.mark.parametrize(
    ("new", "counts"),
    [
        pytest.param(scheduled(1, "a"), True, id="afterwards"),
        pytest.param(scheduled(0, "a"), False, id="at that very moment"),
        pytest.param(scheduled(-1, "a", phase="Pending"), False, id="before, though it does not run yet"),
        pytest.param(scheduled(1, "a", deleting=True), False, id="about to go"),
    ],
)
def test_what_was_scheduled_after_a_measurement_is_not_in_it(new: Any, counts: bool) -> None:
    opened = opened_with({"a": load(0.2, 0.2, age=100)}, new)
    assert scores(opened, Usage, "job-0")["a"] == pytest.approx(500 * (0.8 - (0.07 if counts else 0)))


def test_on_a_node_at_risk_more_is_expected_of_a_pod() -> None:
    opened = opened_with({"a": load(0.59, 0.59), "b": load(0.6, 0.6), "c": load(0.5, 0.7)})
    opened.place("job", {"job-0": "a", "job-1": "b", "job-2": "c"})
    assert scores(opened, Usage, "job-3") == pytest.approx(
        {"a": 500 * (1 - 0.59 - 0.07), "b": 500 * (1 - 0.6 - 0.084), "c": 500 * (1 - 0.6 - 0.084)}
    )


def test_an_absurd_risk_factor_makes_a_node_full_and_never_empty() -> None:
    loads = {"a": load(0.6, 0.6), "b": load(0.6, 0.6)}
    opened = opened_with(loads, estimator={"risk_factor": 1e300})
    opened.place("job", {"job-0": "a", "job-1": "a", "job-2": "a"})
    assert scores(opened, Usage, "job-3") == pytest.approx({"a": 0, "b": 500 * 0.4, "c": 0})


def test_a_node_cannot_be_fuller_than_full() -> None:
    large = gang("large", cpu="10", memory="10Gi", running_on=["a"], phase="Pending")
    opened = opened_with({"a": load(0.5, 0.0)}, large)
    found = scores(opened, Usage, "job-0")["a"]
    assert found == pytest.approx(500 * (0 + 1 - 0.07) / 2), "0.5 and 0.7 of the CPU are all of it, not more"


def test_placing_taking_back_and_evicting_leave_no_trace() -> None:
    opened = opened_with(
        {name: load(0.55, 0.55) for name in "abc"}, gang("new", cpu="1", running_on=["a"], phase="Pending")
    )
    before = scores(opened, Usage, "job-0")
    statement = opened.place("job", {"job-0": "a", "job-1": "a", "job-2": "b"})
    after = scores(opened, Usage, "job-3")
    assert after["a"] < after["b"] < after["c"] == before["c"]
    statement.discard()
    assert scores(opened, Usage, "job-0") == before
    evicting = opened.evict("new-0")
    assert scores(opened, Usage, "job-0")["a"] > before["a"]
    evicting.discard()
    assert scores(opened, Usage, "job-0") == before


def test_a_pod_that_is_placed_elsewhere_is_expected_to_use_what_it_would_there() -> None:
    opened = opened_with({"a": load(0.6, 0.6), "b": load(0.5, 0.5)})
    opened.place("job", {"job-0": "a"}).discard()
    opened.place("job", {"job-0": "b"})
    assert scores(opened, Usage, "job-1") == pytest.approx({"a": 500 * 0.4, "b": 500 * (0.5 - 0.07), "c": 0})


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.floats(0, 0.79), st.sampled_from([0.0, 0.5, 1.0]))
def test_supposing_pods_scores_as_placing_them_does(where: list[str], cpu: float, burst: float) -> None:
    """A sweep looks ahead by supposing; its outcome must be that of placing one by one."""
    loads = {"a": load(cpu, 0.5), "b": load(0.1, cpu), "c": load()}
    opened = opened_with(loads, estimator={"burst_ratio": burst})
    rows = node_rows(opened)
    supposed = np.array([where.count(name) for name in "abc"])
    view = NodeView(opened.ssn.ledger.nodes, rows, class_of(opened, "job-0"), supposed)
    ahead = opened.plugin(Usage).node_order(class_of(opened, "job-0"), view)
    for index, name in enumerate(where):
        opened.place("job", {f"job-{index}": name})
    assert list(scores(opened, Usage, "job-0").values()) == ahead.tolist()


# -- where load comes from -----------------------------------------------------------------------------------------


def metrics(name: str, age: float = 0.0, **usage: str) -> NodeMetrics:
    moment = NOW.fromtimestamp(MOMENT - age, tz=NOW.tzinfo)
    return NodeMetrics(metadata=ObjectMeta(name=name), timestamp=moment, usage=dict(usage))


def test_amounts_are_parts_of_what_a_node_has_allocatable_and_the_youngest_holds() -> None:
    woken: list[Change] = []
    state = ClusterState(on_change=woken.append)
    state.upsert("Node", node("a", cpu="10", memory="100Gi"))
    for reported in (metrics("a", cpu="2500m", memory="50Gi"), metrics("gone", cpu="1"), metrics("a", 0, cpu="5")):
        state.upsert("NodeMetrics", reported)
    assert state.snapshot(MOMENT).loads == {"a": Load(0.5, None, MOMENT)}
    state.measured({"a": load(0.1, 0.1, age=10), "gone": load(0.9)})
    assert state.snapshot(MOMENT).loads["a"].cpu == 0.5
    state.measured({"a": load(0.2, 0.2, age=-1)})
    assert state.snapshot(MOMENT).loads == {"a": load(0.2, 0.2, age=-1)}
    woken.clear()
    state.measured({"a": load(0.2, 0.2, age=-5)})
    assert woken == []
    state.delete("NodeMetrics", metrics("a"))
    assert state.snapshot(MOMENT).loads == {"a": load(0.2, 0.2, age=-5)}


def test_a_node_that_changes_or_goes_takes_its_load_along() -> None:
    state = ClusterState()
    state.upsert("NodeMetrics", metrics("a", cpu="2"))
    assert state.snapshot(MOMENT).loads == {}
    state.upsert("Node", node("a", cpu="4"))
    assert state.snapshot(MOMENT).loads["a"].cpu == 0.5
    assert state.snapshot(MOMENT).loads is state.snapshot(MOMENT).loads
    state.upsert("Node", node("a", cpu="8"))
    assert state.snapshot(MOMENT).loads["a"].cpu == 0.25
    state.delete("Node", node("a"))
    assert state.snapshot(MOMENT).loads == {}


def test_what_cannot_be_read_counts_as_not_measured() -> None:
    state = ClusterState()
    state.upsert("Node", node("a"))
    state.upsert("NodeMetrics", metrics("a", cpu="much", memory="-1"))
    assert state.snapshot(MOMENT).loads == {"a": Load(None, None, MOMENT)}
    state.upsert("NodeMetrics", NodeMetrics(metadata=ObjectMeta(name="a"), usage={"cpu": "1"}))
    assert state.snapshot(MOMENT).loads == {}


@pytest.mark.parametrize(
    ("limits", "expected"),
    [({}, (0, 0)), ({"cpu": "500m", "memory": "1Gi"}, (500, 2**30)), ({"cpu": "much", "memory": "-5"}, (0, 0))],
)
def test_limits_of_pods_are_read(limits: dict[str, str], expected: tuple[int, int]) -> None:
    limited = Container(name="a", resources=ResourceRequirements(limits=dict(limits)))
    assert pod_limits(PodSpec(containers=[limited])) == expected
    assert pod_limits(PodSpec(containers=[limited, Container(name="b")])) == (0, 0)


# -- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argument",
    [
        "thresholds: {cpu: 101}",
        "thresholds: {mem: -1}",
        "estimator: {request_ratio: 1.5}",
        "estimator: {be_cpu: plenty}",
        "estimator: {be_mem: -1}",
        "estimator: {be_mem: true}",
        "usage.weight: heavy",
    ],
)
def test_arguments_that_cannot_be_used_are_refused(argument: str) -> None:
    text = f"actions: allocate\ntiers:\n- plugins:\n  - name: usage\n    arguments:\n      {argument}\n"
    result = parse_configuration(text, checked_registry().catalogue())
    assert result.config is None
    assert result.errors[0].line == 6
