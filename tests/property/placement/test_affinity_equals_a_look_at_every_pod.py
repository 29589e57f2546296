"""Affinity between pods: the filter and whole runs against an oracle that goes from pod to pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.placement.neighbours import HOST, ZONE, Neighbourhood
from tests.support.placement.node_answers import answers, batch_scores
from tests.support.registries import checked_registry
from tests.support.sessions import gang, node, open_session, pod, pod_group, queue
from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    SelectorRequirement,
    WeightedPodAffinityTerm,
)
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates
from volcano_py.simulation import Simulation

NAMESPACES = ("team", "other")
NODES = ("a1", "a2", "b1", "c1", "bare")

labels = st.dictionaries(st.sampled_from(("app", "rev")), st.sampled_from(("x", "y")), max_size=2)
expressions = st.builds(
    lambda key, operator, value: SelectorRequirement(
        key=key, operator=operator, values=[value] if operator in ("In", "NotIn") else []
    ),
    st.sampled_from(("app", "rev")),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    st.sampled_from(("x", "y")),
)
selectors = st.builds(
    lambda match, more: LabelSelector(match_labels=match, match_expressions=more),
    st.dictionaries(st.just("app"), st.sampled_from(("x", "y")), max_size=1),
    st.lists(expressions, max_size=1),
)
namespace_selectors = st.sampled_from([None, None, None, LabelSelector(), LabelSelector(match_labels={"hue": "warm"})])


def _term(
    key: str, selector: LabelSelector | None, names: list[str], names_by: LabelSelector | None, keys: str
) -> PodAffinityTerm:
    spoken_of = {one.key for one in selector.match_expressions} if selector else {"rev"}
    return PodAffinityTerm(
        topology_key=key,
        label_selector=selector,
        namespaces=names,
        namespace_selector=names_by,
        match_label_keys=["rev"] if keys == "match" and "rev" not in spoken_of else [],
        mismatch_label_keys=["rev"] if keys == "mismatch" and "rev" not in spoken_of else [],
    )


terms = st.builds(
    _term,
    st.sampled_from((ZONE, ZONE, HOST)),
    selectors | st.none(),
    st.lists(st.sampled_from(NAMESPACES), unique=True, max_size=1),
    namespace_selectors,
    st.sampled_from(("", "", "match", "mismatch")),
)


def _affinity(
    near: list[PodAffinityTerm], apart: list[PodAffinityTerm], wishes: list[tuple[int, PodAffinityTerm]]
) -> Affinity:
    def preferred(sign: int) -> list[WeightedPodAffinityTerm]:
        return [
            WeightedPodAffinityTerm(weight=weight * sign, pod_affinity_term=one)
            for weight, one in wishes
            if weight * sign > 0
        ]

    return Affinity(
        pod_affinity=PodAffinity(required=near, preferred=preferred(1)),
        pod_anti_affinity=PodAffinity(required=apart, preferred=preferred(-1)),
    )


weights = st.integers(-100, 100).filter(bool)
affinities = st.none() | st.builds(
    _affinity,
    st.lists(terms, max_size=2),
    st.lists(terms, max_size=2),
    st.lists(st.tuples(weights, terms), max_size=2),
)


@st.composite
def crowds(draw: st.DrawFn, most: int = 6) -> list[Pod]:
    """Pods that run, some terminating."""
    return [
        pod(
            f"run-{number}",
            namespace=draw(st.sampled_from(NAMESPACES)),
            labels=draw(labels),
            affinity=draw(affinities),
            on=draw(st.sampled_from(NODES)),
            deleting=draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, most)))
    ]


def _nodes() -> list[Node]:
    zoned = [node(name, labels={HOST: name, ZONE: name[0]}) for name in ("a1", "a2", "b1")]
    return [*zoned, node("c1", labels={HOST: "c1"}), node("bare")]


def _namespaces() -> list[Namespace]:
    return [
        Namespace(metadata=ObjectMeta(name="team", uid="team", labels={"hue": "warm"})),
        Namespace(metadata=ObjectMeta(name="other", uid="other")),
    ]


def _around(standing: list[Pod]) -> Neighbourhood:
    known: Mapping[str, Mapping[str, str]] = {"team": {"hue": "warm"}, "other": {}}
    return Neighbourhood({one.metadata.name: one for one in _nodes()}, known, standing)


@given(crowds(), labels, affinities)
def test_each_node_says_what_the_oracle_says(
    standing: list[Pod], own: dict[str, str], affinity: Affinity | None
) -> None:
    new = pod("new", group="g", labels=own, affinity=affinity)
    opened = open_session(_nodes(), _namespaces(), standing, new, tiers=[[Predicates]])
    around = _around(standing)
    assert answers(opened, Predicates, "new") == {name: around.refusal(new, name) for name in sorted(NODES)}


@given(crowds(), labels, affinities)
def test_each_node_scores_what_the_oracle_says(
    standing: list[Pod], own: dict[str, str], affinity: Affinity | None
) -> None:
    new = pod("new", group="g", labels=own, affinity=affinity)
    company_only = {"podaffinity.weight": 1, "nodeaffinity.weight": 0, "tainttoleration.weight": 0}
    opened = open_session(_nodes(), _namespaces(), standing, new, tiers=[[(NodeOrder, {"arguments": company_only})]])
    raw = {name: _around(standing).raw_score(new, name) for name in NODES}
    lowest, highest = min(raw.values()), max(raw.values())
    expected = (
        {name: int(100 * ((score - lowest) / (highest - lowest))) for name, score in raw.items()}
        if highest > lowest
        else dict.fromkeys(raw, 0)
    )
    nothing = dict.fromkeys(raw, 0.0)
    assert (batch_scores(opened, NodeOrder, "new") or nothing) == expected


@given(crowds(4), st.lists(st.tuples(labels, affinities), min_size=1, max_size=4), st.data())
def test_pods_of_one_cycle_see_each_other(
    standing: list[Pod], wanted: list[tuple[dict[str, str], Affinity | None]], data: st.DataObject
) -> None:
    new = [pod(f"new-{number}", group="g", labels=own, affinity=wish) for number, (own, wish) in enumerate(wanted)]
    opened = open_session(_nodes(), _namespaces(), standing, pod_group("g"), new, tiers=[[Predicates]])
    placed: list[Pod] = []
    statements = []
    for one in new:
        around = _around([*standing, *placed])
        said = answers(opened, Predicates, one.metadata.name)
        assert said == {name: around.refusal(one, name) for name in sorted(NODES)}
        where = data.draw(st.sampled_from(sorted(NODES)))
        if not said[where]:
            statements.append(opened.place("g", {one.metadata.name: where}))
            placed.append(_on(one, where))
    for statement in reversed(statements):
        statement.discard()
    around = _around(standing)
    for one in new:
        assert answers(opened, Predicates, one.metadata.name) == {
            name: around.refusal(one, name) for name in sorted(NODES)
        }


def _on(one: Pod, where: str) -> Pod:
    placed: Pod = msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, node_name=where))
    return placed


jobs = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(NAMESPACES), labels, affinities), min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(crowds(3), jobs)
def test_a_run_binds_what_may_be_bound_and_nothing_else(
    standing: list[Pod], wanted: list[tuple[int, str, dict[str, str], Affinity | None]]
) -> None:
    """Each binding is right at its moment; who waits in the end has no node. No pod fills a node here."""
    standing = [one for one in standing if one.metadata.deletion_timestamp is None]
    members: dict[str, Pod] = {}
    objects: list[Any] = [*_nodes(), *_namespaces(), *standing, queue("default")]
    for number, (pods, namespace, own, affinity) in enumerate(wanted):
        group, *its = gang(
            f"job{number}",
            pods=pods,
            min_member=1,
            namespace=namespace,
            labels=own,
            affinity=affinity,
            cpu="10m",
            group_phase="Pending",
        )
        objects += [group, *its]
        members |= {one.metadata.key: one for one in its if isinstance(one, Pod)}
    result = _simulation(objects).run()
    assert result.settled
    stands = list(standing)
    for key, where in result.binds.items():
        assert _around(stands).refusal(members[key], where) == "", f"{key} on {where}"
        stands.append(_on(members[key], where))
    for key, one in members.items():
        if key not in result.binds:
            assert all(_around(stands).refusal(one, name) for name in NODES), f"{key} waits in vain"


def _simulation(objects: list[Any]) -> Simulation:
    registry = checked_registry()
    parsed = parse_configuration(default_configuration_text(), registry.catalogue())
    assert parsed.config is not None
    return Simulation([(type(each).__name__, each) for each in objects], parsed.config, registry)
