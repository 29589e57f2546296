"""Spread constraints over whole arrays against the definition, node by node, in generated clusters."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement import spreading
from tests.support.placement.node_answers import batch_scores, class_of
from tests.support.placement.placing import placed
from tests.support.placement.spreading import Newcomer, Place
from tests.support.sessions import NAMESPACE, Opened, gang, node, open_session, pod
from volcano_py.api.objects import LabelSelector, SelectorRequirement, Taint, Toleration, TopologySpreadConstraint
from volcano_py.framework.views import FITS
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
KEYS = [ZONE, RACK, spreading.HOSTNAME]

labels = st.dictionaries(st.sampled_from(["app", "version"]), st.sampled_from(["a", "b"]), max_size=2)
requirements = st.one_of(
    st.builds(
        SelectorRequirement,
        key=st.sampled_from(["app", "version"]),
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2),
    ),
    st.builds(
        SelectorRequirement, key=st.sampled_from(["app", "other"]), operator=st.sampled_from(["Exists", "DoesNotExist"])
    ),
)
selectors = st.builds(LabelSelector, match_labels=labels, match_expressions=st.lists(requirements, max_size=1))


@st.composite
def constraints(draw: st.DrawFn) -> list[TopologySpreadConstraint]:
    """Up to four, no pair of key and action twice."""
    pairs = st.tuples(st.sampled_from(KEYS), st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]))
    found = []
    for key, action in draw(st.lists(pairs, min_size=1, max_size=4, unique=True)):
        selector = draw(st.one_of(st.none(), st.just(LabelSelector()), selectors))
        free = [] if selector is None else sorted({"app", "version", "missing"} - set(selector.match_labels))
        hard = action == "DoNotSchedule"
        found.append(
            TopologySpreadConstraint(
                max_skew=draw(st.integers(1, 3)),
                topology_key=key,
                when_unsatisfiable=action,
                label_selector=selector,
                min_domains=draw(st.one_of(st.none(), st.integers(1, 5))) if hard else None,
                node_affinity_policy=draw(st.sampled_from(["Honor", "Ignore"])),
                node_taints_policy=draw(st.sampled_from(["Honor", "Ignore"])),
                match_label_keys=draw(st.lists(st.sampled_from(free), unique=True, max_size=2)) if free else [],
            )
        )
    return found


@st.composite
def places(draw: st.DrawFn) -> list[Place]:
    found = []
    for index in range(draw(st.integers(1, 7))):
        name = f"n{index}"
        keys = {
            ZONE: draw(st.sampled_from(["", "z1", "z2", "z3", None])),
            RACK: draw(st.sampled_from(["r1", "r2", None])),
            spreading.HOSTNAME: draw(st.sampled_from([name, name, name, None])),
            "disk": draw(st.sampled_from(["ssd", "hdd"])),
        }
        there = st.tuples(st.sampled_from([NAMESPACE, "elsewhere"]), labels)
        found.append(
            Place(
                name,
                {key: value for key, value in keys.items() if value is not None},
                draw(st.lists(st.sampled_from(["gpu", "spot"]), unique=True, max_size=1)),
                draw(st.lists(there, max_size=4)),
            )
        )
    return found


newcomers = st.builds(
    Newcomer,
    namespace=st.just(NAMESPACE),
    labels=labels,
    constraints=constraints(),
    node_selector=st.sampled_from([{}, {}, {"disk": "ssd"}]),
    tolerates=st.lists(st.sampled_from(["gpu", "spot"]), unique=True, max_size=2),
)


def fields(new: Newcomer) -> dict[str, Any]:
    return {
        "labels": new.labels,
        "spread": new.constraints,
        "node_selector": new.node_selector,
        "tolerations": [Toleration(key=key, operator="Exists") for key in new.tolerates],
    }


def cluster(new: Newcomer, around: list[Place], *, pods: int = 1) -> Opened:
    """The newcomer in `pods` copies, `new-0` and so on; terminating and finished namesakes of it do not count."""
    objects: list[Any] = []
    for index, place in enumerate(around):
        taints = [Taint(key=key, effect="NoSchedule") for key in place.taints]
        # unequal ones, so that all pods would like to be on the largest
        objects.append(node(place.name, cpu=str(4 + 16 * index), labels=place.labels, taints=taints))
        for number, (namespace, there) in enumerate(place.pods):
            name = f"{place.name}-{number}"
            objects.append(pod(name, namespace=namespace, labels=there, on=place.name, scheduler="another"))
        ghost: dict[str, Any] = {"labels": new.labels, "on": place.name, "scheduler": "another"}
        objects.append(pod(f"{place.name}-leaving", deleting=True, **ghost))
        objects.append(pod(f"{place.name}-done", phase="Succeeded", **ghost))
    return open_session(
        *objects,
        gang("new", pods=pods, cpu="1", **fields(new)),
        tiers=[[Predicates, NodeOrder]],
    )


def reported(opened: Opened) -> dict[str, str]:
    """Node → what it refuses the newcomer for."""
    codes = opened.ssn.placer.codes(class_of(opened, "new-0"))
    return {
        name: "" if codes[row] == FITS else opened.ssn.refusal_of(int(codes[row])).message
        for name, row in opened.ssn.nodes.rows.items()
    }


@given(new=newcomers, around=places())
@settings(max_examples=2 * settings().max_examples)
def test_the_same_nodes_refuse_in_the_same_words(new: Newcomer, around: list[Place]) -> None:
    opened = cluster(new, around)
    assert opened.task("new-0").task_class.problem is None
    expected = spreading.refusals(new, around)
    for name, message in reported(opened).items():
        place = next(place for place in around if place.name == name)
        refused_before = not (
            new.node_selector.items() <= place.labels.items() and set(place.taints) <= set(new.tolerates)
        )
        if refused_before:
            assert message
            assert spreading.MISMATCH not in message
        else:
            assert message == expected[name]


@given(new=newcomers, around=places(), data=st.data())
@settings(max_examples=2 * settings().max_examples)
def test_the_same_nodes_are_preferred_by_the_same_points(
    new: Newcomer, around: list[Place], data: st.DataObject
) -> None:
    feasible = data.draw(st.lists(st.sampled_from([place.name for place in around]), unique=True, min_size=1))
    found = batch_scores(cluster(new, around), NodeOrder, "new-0", feasible)
    if all(constraint.when_unsatisfiable == "DoNotSchedule" for constraint in new.constraints):
        assert found is None
        return
    expected = spreading.scores(new, around, feasible)
    assert found is not None
    assert found == {name: 2.0 * expected[name] for name in feasible}, "2 is the weight"


@given(new=newcomers, around=places(), pods=st.integers(2, 8), at_a_time=st.integers(2, 8))
@settings(max_examples=settings().max_examples)
def test_a_gang_is_spread_as_if_its_pods_came_one_by_one(
    new: Newcomer, around: list[Place], pods: int, at_a_time: int
) -> None:
    opened = cluster(new, around, pods=pods)
    job, waiting = opened.job("new"), opened.ssn.tasks_of(opened.job("new"))
    statement, task_class = opened.ssn.statement(), class_of(opened, "new-0")
    before = reported(opened)
    by_name = {place.name: place for place in around}
    while len(waiting):
        nodes = opened.ssn.placer.choose(task_class, min(at_a_time, len(waiting))).nodes
        if not len(nodes):
            break
        for row in nodes.tolist():
            place = by_name[opened.ssn.snapshot.nodes[row].name]
            assert spreading.refusals(new, around)[place.name] == "", "each is welcome after those before it"
            place.pods.append((NAMESPACE, new.labels))
        statement.allocate(job, task_class, waiting[: len(nodes)], nodes)
        waiting = waiting[len(nodes) :]
        expected = spreading.refusals(new, around)
        for name, message in reported(opened).items():
            assert message == expected[name] or (message and spreading.MISMATCH not in message)
    statement.discard()
    assert reported(opened) == before


@given(new=newcomers, around=places(), pods=st.integers(1, 8))
def test_looking_ahead_goes_where_single_steps_go(new: Newcomer, around: list[Place], pods: int) -> None:
    one_by_one, _ = placed(cluster(new, around, pods=pods), 1, gang="new", afresh=True)
    assert placed(cluster(new, around, pods=pods), pods, gang="new", afresh=True)[0] == one_by_one


def test_the_oracle_itself_spreads_evenly() -> None:
    zones = [Place(f"n{index}", {ZONE: f"z{index % 3}"}) for index in range(3)]
    even = TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, label_selector=LabelSelector(match_labels={"app": "a"})
    )
    new = Newcomer(NAMESPACE, {"app": "a"}, [even])
    zones[0].pods.append((NAMESPACE, {"app": "a"}))
    assert spreading.refusals(new, zones) == {"n0": spreading.MISMATCH, "n1": "", "n2": ""}
