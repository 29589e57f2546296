"""Nodes keep cpu and memory for their idle devices: the seed's example and its edges, in every spelling there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.placement.node_answers import answers, class_of, node_rows
from tests.support.placement.placing import placed
from tests.support.sessions import Objects, Opened, PluginChoice, gang, node, open_session, pod, pod_group
from volcano_py.config.fields.reading import read_arguments
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.views import FITS, NodeView
from volcano_py.plugins.amounts.reserve import Ratio, Reserve, kept_for
from volcano_py.plugins.binpack import Binpack
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.predicates.arguments import PredicatesArguments
from volcano_py.plugins.resource_strategy_fit import ResourceStrategyFit

GPU, V100, T4 = "nvidia.com/gpu", "nvidia.com/v100-sxm2-16gb", "nvidia.com/t4"
Ratios = Mapping[str, Mapping[str, float]]
"""Device → cpu and memory to keep, as far as they are written."""
SEED: Ratios = {GPU: {"cpu": 8, "memory": 8}, V100: {"cpu": 16, "memory": 16}}

KEPT_CPU, KEPT_MEMORY = kept_for("cpu", GPU), kept_for("memory", GPU)


def _keys(ratios: Ratios, form: str) -> dict[str, float]:
    return {form.format(name, part): ratio for name, parts in ratios.items() for part, ratio in parts.items()}


def by_predicates(ratios: Ratios) -> PluginChoice:
    arguments = {"predicate.ProportionalEnable": True, "predicate.resources": ",".join(ratios)}
    return Predicates, {"arguments": arguments | _keys(ratios, "predicate.resources.{}.{}")}


def flat(ratios: Ratios) -> PluginChoice:
    arguments = {"sra.policy": "proportional", "sra.resources": ", ".join(ratios)}
    return ResourceStrategyFit, {"arguments": arguments | _keys(ratios, "sra.proportional.{}.{}")}


def nested(ratios: Ratios) -> PluginChoice:
    sra = {"policy": "proportional", "resources": ",".join(ratios), "proportional": _keys(ratios, "{}.{}")}
    return ResourceStrategyFit, {"arguments": {"sra": sra}}


def todays(ratios: Ratios) -> PluginChoice:
    block = {"enable": True, "resources": ",".join(ratios), "resourceProportion": _keys(ratios, "{}.{}")}
    return ResourceStrategyFit, {"arguments": {"proportional": block}}


SPELLINGS = [by_predicates, flat, nested, todays]
every_spelling = pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.__name__)


def session(*objects: Objects, choice: PluginChoice) -> Opened:
    return open_session(pod_group("g"), *objects, tiers=[[choice]])


def plugin_of(choice: PluginChoice) -> type[Plugin]:
    return choice[0] if isinstance(choice, tuple) else choice


def answer(opened: Opened, choice: PluginChoice, name: str = "new") -> dict[str, str]:
    return answers(opened, plugin_of(choice), name)


# -- the seed's example and its edges ------------------------------------------------------------------------------


@every_spelling
def test_of_two_pods_on_the_seeds_node_the_second_would_strand_gpus(spelling: Any) -> None:
    choice = spelling(SEED)
    pods = [pod(name, group="g", cpu="8", memory="8G") for name in ("single-0", "single-1")]
    opened = session(node("nodeC0-0", cpu="74", memory="128G", devices={GPU: "8"}), *pods, choice=choice)
    assert answer(opened, choice, "single-0") == {"nodeC0-0": ""}
    statement = opened.place("g", {"single-0": "nodeC0-0"})
    assert answer(opened, choice, "single-1") == {"nodeC0-0": KEPT_CPU}
    statement.discard()
    assert answer(opened, choice, "single-1") == {"nodeC0-0": ""}


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param((Predicates, {}), id="absent"),
        pytest.param((Predicates, {"arguments": {"predicate.ProportionalEnable": False}}), id="off"),
        pytest.param(
            (Predicates, {"arguments": {"predicate.resources": GPU, f"predicate.resources.{GPU}.cpu": 8}}),
            id="ratios without the switch",
        ),
        pytest.param(
            (ResourceStrategyFit, {"arguments": {"proportional": {"enable": False, "resources": GPU}}}),
            id="today's block off",
        ),
    ],
)
def test_without_the_rule_both_pods_are_taken(choice: PluginChoice) -> None:
    pods = [pod(name, group="g", cpu="8", memory="8G") for name in ("single-0", "single-1")]
    opened = session(node("nodeC0-0", cpu="74", memory="128G", devices={GPU: "8"}), *pods, choice=choice)
    opened.place("g", {"single-0": "nodeC0-0"})
    assert answer(opened, choice, "single-1") == {"nodeC0-0": ""}
    plugin = opened.plugin(plugin_of(choice))
    assert plugin.predicate_reach(class_of(opened, "single-1")) is Reach.STATIC


Amounts = Mapping[str, str]


@every_spelling
@pytest.mark.parametrize(
    ("has", "used", "asked", "expected"),
    [
        pytest.param({"cpu": "72", "memory": "128G", GPU: "8"}, {}, {"cpu": "8", "memory": "8G"}, "", id="exactly"),
        pytest.param(
            {"cpu": "72", "memory": "71G", GPU: "8"}, {}, {"cpu": "8", "memory": "8G"}, KEPT_MEMORY, id="memory"
        ),
        pytest.param(
            {"cpu": "66", "memory": "120G", GPU: "8"}, {}, {"cpu": "8", "memory": "8G", GPU: "1"}, "", id="a GPU pod"
        ),
        pytest.param(
            {"cpu": "66", "memory": "120G", GPU: "8"}, {GPU: "8"}, {"cpu": "8", "memory": "8G"}, "", id="none idle"
        ),
        pytest.param({"cpu": "16", "memory": "32G"}, {}, {"cpu": "16"}, "", id="no GPUs"),
        pytest.param(
            {"cpu": "74", "memory": "128G", GPU: "8"}, {GPU: "4"}, {"cpu": "42", "memory": "8G"}, "", id="half of them"
        ),
        pytest.param(
            {"cpu": "100", "memory": "200G", V100: "4"}, {}, {"cpu": "36", "memory": "1G"}, "", id="v100, exactly"
        ),
        pytest.param(
            {"cpu": "100", "memory": "200G", V100: "4"},
            {},
            {"cpu": "37", "memory": "1G"},
            kept_for("cpu", V100),
            id="v100, one core more",
        ),
        pytest.param(
            {"cpu": "40", "memory": "100G", GPU: "2", V100: "2"},
            {},
            {"cpu": "8", "memory": "1G"},
            "",
            id="two kinds, each by itself",
        ),
        pytest.param(
            {"cpu": "40", "memory": "100G", GPU: "2", V100: "2"},
            {},
            {"cpu": "9", "memory": "1G"},
            kept_for("cpu", V100),
            id="two kinds, one core more",
        ),
        pytest.param(
            {"cpu": "74", "memory": "128G", GPU: "8"}, {}, {"cpu": "66", "memory": "8G", V100: "1"}, "", id="any device"
        ),
    ],
)
def test_the_edges(spelling: Any, has: Amounts, used: Amounts, asked: Amounts, expected: str) -> None:
    choice = spelling(SEED)
    other = node("elsewhere", cpu="1", memory="1G", devices={V100: "1"})
    pods = [pod("old", on="n1", devices=used), pod("new", group="g", devices=asked)]
    assert answer(session(node("n1", devices=has), other, *pods, choice=choice), choice)["n1"] == expected


@every_spelling
def test_a_ratio_that_is_not_written_is_1(spelling: Any) -> None:
    choice = spelling({GPU: {"memory": 8}})
    pods = [pod("small", group="g", cpu="66", memory="8G"), pod("large", group="g", cpu="67", memory="8G")]
    opened = session(node("n1", cpu="74", memory="128G", devices={GPU: "8"}), *pods, choice=choice)
    assert answer(opened, choice, "small") == {"n1": ""}
    assert answer(opened, choice, "large") == {"n1": KEPT_CPU}


@every_spelling
def test_what_is_kept_follows_the_gpus_that_are_idle_now(spelling: Any) -> None:
    choice = spelling(SEED)
    trainer, new = (pod("gpu", group="g", cpu="8", devices={GPU: "4"}), pod("new", group="g", cpu="16", memory="8G"))
    opened = session(node("n1", cpu="72", memory="500G", devices={GPU: "8"}), trainer, new, choice=choice)
    assert answer(opened, choice) == {"n1": KEPT_CPU}
    opened.place("g", {"gpu": "n1"})
    assert answer(opened, choice) == {"n1": ""}, "64 - 16 = 48 cores are more than 4 idle GPUs want"


@every_spelling
def test_a_place_that_is_being_freed_does_not_count(spelling: Any) -> None:
    choice = spelling(SEED)
    leaving = pod("leaving", on="n1", cpu="66", deleting=True)
    opened = session(
        node("n1", cpu="74", memory="500G", devices={GPU: "8"}),
        node("n2", cpu="8", memory="500G"),
        leaving,
        pod("leaving-too", on="n2", cpu="8", deleting=True),
        pod("new", group="g", cpu="8"),
        choice=choice,
    )
    assert answer(opened, choice) == {"n1": KEPT_CPU, "n2": ""}, "a node without GPUs may still be promised"
    chosen = opened.ssn.placer.choose(class_of(opened, "new"), 1)
    assert chosen.pipelined
    assert [opened.ssn.snapshot.nodes[row].name for row in chosen.nodes.tolist()] == ["n2"]


def test_with_all_gpus_in_use_only_what_is_free_now_is_left_to_ask_for() -> None:
    choice = by_predicates(SEED)
    used = pod("used", on="n1", cpu="70", devices={GPU: "8"})
    opened = session(
        node("n1", cpu="74", memory="500G", devices={GPU: "8"}), used, pod("new", group="g", cpu="8"), choice=choice
    )
    assert answer(opened, choice) == {"n1": "Insufficient cpu"}


def test_a_node_too_small_even_when_empty_is_reported_separately() -> None:
    choice = by_predicates(SEED)
    opened = session(
        node("n1", cpu="74", memory="500G", devices={GPU: "8"}), pod("new", group="g", cpu="80"), choice=choice
    )
    error = opened.ssn.placer.misfit(class_of(opened, "new"))
    assert error.counts == {"Insufficient cpu": 1}
    assert error.refusal.reason == "NeverFits"


def test_the_explanation_counts_nodes_by_what_they_keep() -> None:
    choice = by_predicates(SEED)
    opened = session(
        node("a", cpu="70", memory="500G", devices={GPU: "8"}),
        node("b", cpu="70", memory="500G", devices={GPU: "8"}),
        node("c", cpu="74", memory="70G", devices={GPU: "8"}),
        node("d", cpu="4", memory="500G"),
        pod("new", group="g", cpu="8", memory="8G"),
        choice=choice,
    )
    error = opened.ssn.placer.misfit(class_of(opened, "new"))
    assert error.counts == {KEPT_CPU: 2, KEPT_MEMORY: 1, "Insufficient cpu": 1}
    assert error.refusal.reason == "NodesRefuse", "three nodes are large enough"
    assert error.refusal.message == (
        "0/4 nodes are unavailable: 1 Insufficient cpu, 2 node(s) kept cpu for idle nvidia.com/gpu, "
        "1 node(s) kept memory for idle nvidia.com/gpu. The pod asks for 8 cpu; the emptiest suitable node, d, "
        "has 4 cpu free. Nodes keep cpu and memory for each idle nvidia.com/gpu: wait until the devices are in use, "
        "ask for less, or add nodes without them."
    )


@every_spelling
def test_either_plugin_says_what_would_help(spelling: Any) -> None:
    opened = session(
        node("a", cpu="70", memory="500G", devices={GPU: "8"}), pod("p", group="g", cpu="8"), choice=spelling(SEED)
    )
    assert (
        "Nodes keep cpu and memory for each idle nvidia.com/gpu"
        in opened.ssn.placer.misfit(class_of(opened, "p")).refusal.message
    )


def test_evictions_may_help_against_it_but_not_against_a_taint() -> None:
    choice = by_predicates(SEED)
    opened = session(
        node("kept", cpu="64", memory="500G", devices={GPU: "8"}),
        node("cordoned", cpu="64", unschedulable=True),
        pod("new", group="g", cpu="8"),
        choice=choice,
    )
    rows = node_rows(opened, ["kept", "cordoned"])
    codes = opened.plugin(Predicates).predicate(class_of(opened, "new"), NodeView(opened.ssn.ledger.nodes, rows))
    assert (codes != FITS).all()
    assert opened.ssn.resolvable(codes).tolist() == [True, False]


@every_spelling
def test_what_is_promised_to_others_is_not_free(spelling: Any) -> None:
    choice = spelling(SEED)
    pods = [pod(name, group="g", cpu="8", memory="8G") for name in ("promised", "new")]
    trainer = pod("gpu", group="g", cpu="8", memory="8G", devices={GPU: "1"})
    opened = session(node("n1", cpu="74", memory="500G", devices={GPU: "8"}), *pods, trainer, choice=choice)
    opened.pipeline("g", {"promised": "n1"})
    assert answer(opened, choice) == {"n1": KEPT_CPU}, "74 - 8 - 8 = 58"
    opened.pipeline("g", {"gpu": "n1"})
    assert answer(opened, choice) == {"n1": KEPT_CPU}, "a GPU less is idle, but 50 cores are too few for seven"


@every_spelling
def test_a_node_can_be_asked_as_it_will_be_once_pods_that_leave_are_gone(spelling: Any) -> None:
    choice = spelling(SEED)
    opened = session(
        node("n1", cpu="74", memory="500G", devices={GPU: "8"}),
        pod("old", group="g", on="n1", cpu="10"),
        pod("new", group="g", cpu="8"),
        pod("large", group="g", cpu="11"),
        choice=choice,
    )
    placer = opened.ssn.placer
    new, large, row = class_of(opened, "new"), class_of(opened, "large"), opened.node_row("n1")
    assert not placer.may_take(new, row)
    opened.evict("old")
    assert placer.may_take(new, row)
    assert not placer.may_take(large, row)
    assert answer(opened, choice) == {"n1": KEPT_CPU}, "as it is now, it is not"


# -- who is looked at again after a placement ------------------------------------------------------------------------


@every_spelling
def test_only_pods_that_the_rule_concerns_are_looked_at_again(spelling: Any) -> None:
    choice = spelling(SEED)
    pods = [pod("plain", group="g", cpu="1"), pod("gpu", group="g", devices={GPU: "1"})]
    with_gpus = session(node("n1", devices={GPU: "8"}), *pods, choice=choice)
    reach = with_gpus.plugin(plugin_of(choice)).predicate_reach
    assert (reach(class_of(with_gpus, "plain")), reach(class_of(with_gpus, "gpu"))) == (Reach.ROW, Reach.STATIC)
    without = session(node("n1"), *pods, choice=choice)
    assert without.plugin(plugin_of(choice)).predicate_reach(class_of(without, "plain")) is Reach.STATIC


@every_spelling
def test_a_gang_is_placed_in_one_sweep_and_stops_at_the_reserve(spelling: Any) -> None:
    opened = open_session(
        node("n1", cpu="74", memory="500G", devices={GPU: "8"}),
        node("n2", cpu="74", memory="500G", devices={GPU: "8"}),
        gang("g", pods=12, cpu="2"),
        tiers=[[spelling(SEED), Binpack]],
    )
    where, choices = placed(opened, 12)
    assert (Counter(where), choices) == ({"n1": 5, "n2": 5}, 1)


def test_pods_with_host_ports_go_one_to_a_node_in_one_sweep() -> None:
    nodes = [node(f"n{number}") for number in range(4)]
    opened = open_session(*nodes, gang("g", pods=5, cpu="1", host_ports=[80]), tiers=[[Predicates, Binpack]])
    assert placed(opened, 5) == (["n0", "n1", "n2", "n3"], 1)


# -- the rule, one node and one pod at a time ----------------------------------------------------------------------

Vector = tuple[int, int, int, int]
"""Millicores, bytes, GPUs, v100s."""
vectors = st.tuples(st.integers(0, 90_000), st.integers(0, 200 * 10**9), st.integers(0, 4), st.integers(0, 4))
requests = st.tuples(
    st.integers(0, 20_000), st.integers(0, 40 * 10**9), st.sampled_from([0, 0, 0, 1]), st.sampled_from([0, 0, 0, 2])
)
pairs = st.tuples(st.sampled_from([0.0, 0.1, 1.0, 2.5, 8.0]), st.sampled_from([0.0, 0.3, 1.0, 8.0]))
NAMES = ("cpu", "memory", GPU, V100)


def quantities(vector: Vector) -> dict[str, str]:
    return {"cpu": f"{vector[0]}m", "memory": str(vector[1]), GPU: str(vector[2]), V100: str(vector[3])}


def passes(idle: Vector, has: Vector, asked: Vector, kept: Ratios) -> bool:
    """The rule, with ratios in tenths so that it is whole numbers throughout."""
    if asked[2] or asked[3]:
        return True
    for device in (2, 3):
        for resource, units in ((0, 1000), (1, 10**9)):
            ratio = kept[NAMES[device]][NAMES[resource]]
            needed = max(idle[device], 0) * round(ratio * 10) * units
            if has[device] and (idle[resource] - asked[resource]) * 10 < needed:
                return False
    return True


@settings(deadline=None)
@given(
    cluster=st.lists(st.tuples(vectors, vectors), min_size=1, max_size=4),
    asked=requests,
    gpu=pairs,
    v100=pairs,
    spelling=st.sampled_from(SPELLINGS),
)
def test_all_nodes_at_once_equal_one_node_after_the_other(
    cluster: list[tuple[Vector, Vector]],
    asked: Vector,
    gpu: tuple[float, float],
    v100: tuple[float, float],
    spelling: Any,
) -> None:
    kept: Ratios = {name: {"cpu": cpu, "memory": memory} for name, (cpu, memory) in ((GPU, gpu), (V100, v100))}
    choice = spelling(kept)
    nodes = [node(f"n{number}", devices=quantities(has)) for number, (has, _) in enumerate(cluster)]
    old = [pod(f"old{number}", on=f"n{number}", devices=quantities(used)) for number, (_, used) in enumerate(cluster)]
    opened = session(*nodes, *old, pod("new", group="g", devices=quantities(asked)), choice=choice)
    found = answer(opened, choice)
    for number, (has, used) in enumerate(cluster):
        idle = (has[0] - used[0], has[1] - used[1], has[2] - used[2], has[3] - used[3])
        if asked[0] <= has[0] and asked[1] <= has[1]:
            assert (not found[f"n{number}"]) == passes(idle, has, asked, kept), f"n{number}"


@settings(deadline=None)
@given(
    has=st.tuples(st.integers(1_000, 90_000), st.integers(10**9, 200 * 10**9), st.integers(0, 4), st.integers(0, 4)),
    asked=st.tuples(st.integers(0, 20_000), st.integers(0, 40 * 10**9)),
    gpu=pairs,
    v100=pairs,
)
def test_the_room_is_how_many_tasks_pass_one_after_the_other(
    has: Vector, asked: tuple[int, int], gpu: tuple[float, float], v100: tuple[float, float]
) -> None:
    assume(asked[0] >= 500 or asked[1] >= 10**9)
    kept: Ratios = {name: {"cpu": cpu, "memory": memory} for name, (cpu, memory) in ((GPU, gpu), (V100, v100))}
    request = (*asked, 0, 0)
    new = pod("new", group="g", devices=quantities(request))
    opened = session(node("n1", devices=quantities(has)), node("n2", devices={GPU: "1"}), new, choice=(Predicates, {}))
    reserve = Reserve(opened.ssn, {name: Ratio(parts["cpu"], parts["memory"]) for name, parts in kept.items()})
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["n1"]))
    room = int(reserve.room(class_of(opened, "new"), view)[0])
    count, idle = 0, has
    while count <= room and passes(idle, has, request, kept):
        count += 1
        idle = (idle[0] - asked[0], idle[1] - asked[1], idle[2], idle[3])
        if idle[0] < 0 or idle[1] < 0:
            break
    if has[2] or has[3]:
        assert room == count
    else:
        assert room >= 10**6, "the rule says nothing of a node without devices"


def test_a_task_that_asks_for_neither_may_come_in_any_number_or_not_at_all() -> None:
    choice = by_predicates({GPU: {"cpu": 8, "memory": 8}})
    opened = session(
        node("kept", cpu="64", memory="64G", devices={GPU: "8", T4: "8"}),
        node("short", cpu="63", memory="64G", devices={GPU: "8", T4: "8"}),
        pod("new", group="g", devices={T4: "1"}),
        choice=choice,
    )
    assert answer(opened, choice) == {"kept": "", "short": KEPT_CPU}
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["kept", "short"]))
    room = opened.plugin(Predicates).predicate_room(class_of(opened, "new"), view)
    assert room is not None
    assert room[0] > 2**60
    assert room[1] == 0


def test_absurd_amounts_are_kept_without_overflow() -> None:
    choice = by_predicates({"example.com/grain": {"cpu": 1e300, "memory": 1e9}})
    opened = session(
        node("n1", cpu="64", memory="64G", devices={"example.com/grain": str(2**50)}),
        pod("new", group="g", cpu="1"),
        choice=choice,
    )
    assert answer(opened, choice) == {"n1": kept_for("cpu", "example.com/grain")}
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["n1"]))
    room = opened.plugin(Predicates).predicate_room(class_of(opened, "new"), view)
    assert room is not None
    assert room.tolist() == [0]


# -- arguments of predicates ---------------------------------------------------------------------------------------


def test_the_arguments_of_predicates() -> None:
    arguments, problems = read_arguments(
        PredicatesArguments,
        {
            "predicate.ProportionalEnable": "true",
            "predicate.resources": f"{GPU} , {V100},",
            f"predicate.resources.{GPU}.cpu": 8,
            f"predicate.resources.{GPU}.memory": 0.5,
        },
    )
    assert arguments is not None
    assert arguments.reserve() == {GPU: Ratio(8, 0.5), V100: Ratio(1, 1)}
    assert problems == ()


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        ({"predicate.ProportionalEnable": True}, "has no effect: predicate.resources lists no device"),
        (
            {"predicate.ProportionalEnable": True, "predicate.resources": GPU, f"predicate.resources.{T4}.cpu": 2},
            f"predicate.resources.{T4} has no effect: {T4} is not listed in predicate.resources",
        ),
    ],
)
def test_what_can_have_no_effect_is_reported(values: dict[str, Any], reported: str) -> None:
    arguments, (problem,) = read_arguments(PredicatesArguments, values)
    assert arguments is not None
    assert reported in problem.message


@pytest.mark.parametrize("ratio", ["much", [8], {"a": 1}, True, float("nan"), float("inf"), "NaN", -16, -0.1])
def test_a_ratio_that_is_no_number_from_0_on_is_refused_at_its_place(ratio: object) -> None:
    arguments, (problem,) = read_arguments(PredicatesArguments, {f"predicate.resources.{GPU}.cpu": ratio})
    assert arguments is None
    assert problem.path == f"predicate.resources.{GPU}.cpu"
