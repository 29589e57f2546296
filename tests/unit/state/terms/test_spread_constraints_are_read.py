"""What a pod's topology spread constraints mean for it, and what is wrong with those that mean nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import pod
from tests.unit.state.watched import Watched
from volcano_py.api.bounds import SPREADS
from volcano_py.api.objects import LabelSelector, SelectorRequirement, TopologySpreadConstraint
from volcano_py.api.reasons import Reason
from volcano_py.state.terms.pod_terms import PodTerm, Requirement
from volcano_py.state.terms.spread import Spread, spread_fault, spreads_of

ZONE = "topology.kubernetes.io/zone"
APP = LabelSelector(match_labels={"app": "web"})


def constraint(**fields: Any) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(**{"topology_key": ZONE, "label_selector": APP, **fields})


def read(*constraints: TopologySpreadConstraint, **labels: str) -> tuple[Spread, ...]:
    return spreads_of(pod("p", namespace="team", labels=labels, spread=constraints))


def fault(*constraints: TopologySpreadConstraint, **labels: str) -> str | None:
    return spread_fault(pod("p", namespace="team", labels=labels, spread=constraints))


def test_a_constraint_counts_pods_of_its_own_namespace() -> None:
    (spread,) = read(constraint(max_skew=2), app="web", version="7")
    assert spread == Spread(
        ZONE, required=True, max_skew=2, term=PodTerm(("team",), (Requirement("app", "In", ("web",)),)), own=True
    )


def test_fields_are_as_written() -> None:
    (spread,) = read(constraint(min_domains=3, node_affinity_policy="Ignore", node_taints_policy="Honor"))
    assert (spread.min_domains, spread.by_affinity, spread.by_taints, spread.own) == (3, False, True, False)
    (wish,) = read(constraint(when_unsatisfiable="ScheduleAnyway"))
    assert not wish.required


def test_a_missing_selector_matches_nothing_and_an_empty_one_counts_nothing() -> None:
    (missing,) = read(constraint(label_selector=None), app="web")
    assert (missing.term, missing.own) == (None, False)
    (empty,) = read(constraint(label_selector=LabelSelector()), app="web")
    assert (empty.term, empty.own) == (None, True)


def test_match_label_keys_narrow_the_selector_by_the_pods_own_labels() -> None:
    (spread,) = read(constraint(match_label_keys=["version", "absent"]), app="web", version="7")
    assert spread.term is not None
    assert spread.term.selector == (Requirement("app", "In", ("web",)), Requirement("version", "In", ("7",)))
    (alone,) = read(constraint(label_selector=LabelSelector(), match_label_keys=["version"]), version="7")
    assert alone.term == PodTerm(("team",), (Requirement("version", "In", ("7",)),)), "so an empty one does count"


def test_it_makes_no_difference_that_the_api_server_has_merged_them_already() -> None:
    merged = LabelSelector(
        match_labels={"app": "web"}, match_expressions=[SelectorRequirement(key="version", operator="In", values=["7"])]
    )
    labels = {"app": "web", "version": "7"}
    assert read(constraint(label_selector=merged, match_label_keys=["version"]), **labels) == read(
        constraint(match_label_keys=["version"]), **labels
    )


def test_labels_that_no_constraint_looks_at_do_not_split_classes() -> None:
    def member(name: str, **labels: str) -> Any:
        return pod(name, labels={"app": "web", **labels}, spread=[constraint(match_label_keys=["version"])])

    watched = Watched(
        member("a", index="0", version="1"), member("b", index="1", version="1"), member("c", version="2")
    )
    assert watched.class_of("a").row == watched.class_of("b").row != watched.class_of("c").row


def expression(operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=[SelectorRequirement(key="app", operator=operator, values=list(values))])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"max_skew": 0}, "maxSkew is 0: use 1 or more", id="maxSkew"),
        pytest.param(
            {"topology_key": ""},
            "topologyKey is '': name a label of nodes, such as topology.kubernetes.io/zone",
            id="topologyKey",
        ),
        pytest.param(
            {"when_unsatisfiable": "Never"},
            "whenUnsatisfiable is 'Never': use DoNotSchedule or ScheduleAnyway",
            id="whenUnsatisfiable",
        ),
        pytest.param({"min_domains": 0}, "minDomains is 0: use 1 or more, or remove it", id="minDomains"),
        pytest.param(
            {"min_domains": 2, "when_unsatisfiable": "ScheduleAnyway"},
            "minDomains is 2: it works with whenUnsatisfiable DoNotSchedule only; remove it",
            id="minDomains of a wish",
        ),
        pytest.param(
            {"node_affinity_policy": "Maybe"},
            "nodeAffinityPolicy is 'Maybe': use Honor or Ignore",
            id="affinity policy",
        ),
        pytest.param(
            {"node_taints_policy": "honor"}, "nodeTaintsPolicy is 'honor': use Honor or Ignore", id="taints policy"
        ),
        pytest.param(
            {"label_selector": None, "match_label_keys": ["app"]},
            "matchLabelKeys is ['app']: add a labelSelector for them to narrow",
            id="keys without a selector",
        ),
        pytest.param(
            {"match_label_keys": ["a b"]},
            "matchLabelKeys[0] is 'a b': name a label, such as pod-template-hash",
            id="a key that is no label",
        ),
        pytest.param(
            {"match_label_keys": ["app"]},
            "matchLabelKeys[0] is 'app': labelSelector has it, too; remove it from one of them",
            id="a key twice",
        ),
        pytest.param(
            {"label_selector": expression("Like", "x")},
            "labelSelector.matchExpressions[0].operator is 'Like': use In, NotIn, Exists or DoesNotExist",
            id="operator",
        ),
        pytest.param(
            {"label_selector": expression("In")},
            "labelSelector.matchExpressions[0].values is []: In needs at least one value",
            id="values",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_field_finding_and_fix(fields: dict[str, Any], message: str) -> None:
    good = constraint(topology_key="rack")
    labels = {"app": "web", "a b": "no label can have this key"}
    assert fault(good, constraint(**fields), **labels) == f"spec.topologySpreadConstraints[1].{message}"
    assert read(good, constraint(**fields), **labels) == (), "none of them is evaluated in part"


def test_one_key_may_be_constrained_once_each_way() -> None:
    both = [constraint(), constraint(when_unsatisfiable="ScheduleAnyway")]
    assert fault(*both) is None
    assert fault(*both, constraint(max_skew=3)) == (
        "spec.topologySpreadConstraints[2].topologyKey is 'topology.kubernetes.io/zone': another constraint has it, "
        "with DoNotSchedule; keep one"
    )


def test_there_is_an_end_to_how_many_are_evaluated() -> None:
    many = [constraint(topology_key=f"key-{number}") for number in range(SPREADS.most)]
    assert fault(*many) is None
    assert fault(*many, constraint()) == (
        f"spec.topologySpreadConstraints has {SPREADS.most + 1} entries: at most {SPREADS.most} are evaluated; "
        "drop some"
    )


def test_a_malformed_constraint_stops_its_pod_alone() -> None:
    watched = Watched(pod("bad", spread=[constraint(max_skew=-1)]), pod("good", spread=[constraint()]))
    problem = watched.class_of("bad").problem
    assert problem is not None
    assert problem.reason is Reason.INVALID_POD
    assert problem.message == "spec.topologySpreadConstraints[0].maxSkew is -1: use 1 or more"
    assert watched.class_of("good").problem is None
