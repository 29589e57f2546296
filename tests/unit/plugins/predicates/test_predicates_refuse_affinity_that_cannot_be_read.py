"""A pod with a malformed node selector, node affinity or toleration waits with the field and the fix; others go on."""

from __future__ import annotations

import pytest

from tests.support.placement.node_answers import class_of, willing
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    SelectorRequirement,
    Toleration,
)
from volcano_py.api.reasons import Reason
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.predicates.well_formed import MOST_REQUIREMENTS

TERM = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
PREFERENCE = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].preference"

GOOD = SelectorRequirement(key="example.com/zone", operator="In", values=["a"])


def expressions(*requirements: SelectorRequirement) -> Affinity:
    return _required(NodeSelectorTerm(match_expressions=list(requirements)))


def fields(*requirements: SelectorRequirement) -> Affinity:
    return _required(NodeSelectorTerm(match_fields=list(requirements)))


def _required(term: NodeSelectorTerm) -> Affinity:
    return Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=[term])))


def opened_with(bad: Affinity | Pod, **arguments: bool) -> Opened:
    entry = {"arguments": {f"predicate.{name}": value for name, value in arguments.items()}}
    return open_session(
        node("n1", labels={"example.com/zone": "a"}),
        pod_group("g", min_member=2),
        pod("bad", group="g", affinity=bad) if isinstance(bad, Affinity) else bad,
        pod("good", group="g", affinity=expressions(GOOD)),
        tiers=[[(Predicates, entry)]],
    )


def refusal(bad: Affinity | Pod) -> str | None:
    """What stops the pod; asserts that the reason is the pod's own and that its neighbour is free."""
    opened = opened_with(bad)
    assert opened.ssn.ask.pre_predicate(class_of(opened, "good")) is None
    assert willing(opened, Predicates, "good") == ["n1"]
    found = opened.ssn.ask.pre_predicate(class_of(opened, "bad"))
    if found is None:
        return None
    assert found.reason is Reason.INVALID_POD
    assert willing(opened, Predicates, "bad") == [], "asked all the same, no node takes it"
    assert not opened.ssn.dispatch.failures.counts
    return found.message


def requirement(key: str, operator: str, *values: str) -> SelectorRequirement:
    return SelectorRequirement(key=key, operator=operator, values=list(values))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param(
            requirement("zone", "Like", "a"),
            ".operator is 'Like': use In, NotIn, Exists, DoesNotExist, Gt or Lt",
            id="unknown operator",
        ),
        pytest.param(requirement("zone", "In"), ".values is []: In needs at least one value", id="In without values"),
        pytest.param(
            requirement("zone", "NotIn"), ".values is []: NotIn needs at least one value", id="NotIn without values"
        ),
        pytest.param(
            requirement("zone", "Exists", "a"),
            ".values is ['a']: Exists takes none; remove them or use In",
            id="Exists with a value",
        ),
        pytest.param(
            requirement("zone", "DoesNotExist", "a"),
            ".values is ['a']: DoesNotExist takes none; remove them or use In",
            id="DoesNotExist with a value",
        ),
        pytest.param(
            requirement("zone", "Gt", "1.5"),
            ".values is ['1.5']: Gt needs exactly one integer of 0 or more",
            id="Gt, a fraction",
        ),
        pytest.param(
            requirement("zone", "Lt"), ".values is []: Lt needs exactly one integer of 0 or more", id="Lt, nothing"
        ),
        pytest.param(
            requirement("zone", "Gt", "1", "2"),
            ".values is ['1', '2']: Gt needs exactly one integer of 0 or more",
            id="Gt, two",
        ),
        pytest.param(
            requirement("zone", "Lt", "9223372036854775808"),
            ".values is ['9223372036854775808']: Lt needs exactly one integer of 0 or more",
            id="Lt beyond int64",
        ),
        pytest.param(
            requirement("zone", "Gt", "-1"),
            ".values is ['-1']: Gt needs exactly one integer of 0 or more",
            id="Gt below 0",
        ),
        pytest.param(
            requirement("", "Exists"), ".key is '': name a label, such as topology.kubernetes.io/zone", id="no key"
        ),
        pytest.param(
            requirement("a/b/c", "Exists"),
            ".key is 'a/b/c': name a label, such as topology.kubernetes.io/zone",
            id="impossible key",
        ),
        pytest.param(
            requirement("zone", "In", "a", "b c"),
            ".values[1] is 'b c': a label cannot have this value; correct it",
            id="impossible value",
        ),
    ],
)
def test_a_malformed_expression_is_reported_with_its_place(broken: SelectorRequirement, message: str) -> None:
    assert refusal(expressions(GOOD, broken)) == f"{TERM}.matchExpressions[1]{message}"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param(
            requirement("metadata.uid", "In", "a"),
            ".key is 'metadata.uid': use metadata.name, or matchExpressions for a label",
            id="unknown field",
        ),
        pytest.param(
            requirement("metadata.name", "Exists", "a"), ".operator is 'Exists': use In or NotIn", id="operator"
        ),
        pytest.param(
            requirement("metadata.name", "In", "a", "b"),
            ".values is ['a', 'b']: give exactly one name; use one term for each name",
            id="two names",
        ),
        pytest.param(
            requirement("metadata.name", "NotIn"),
            ".values is []: give exactly one name; use one term for each name",
            id="no name",
        ),
    ],
)
def test_a_malformed_field_is_reported_with_its_place(broken: SelectorRequirement, message: str) -> None:
    assert refusal(fields(broken)) == f"{TERM}.matchFields[0]{message}"


def test_preferred_terms_are_read_as_closely() -> None:
    terms = [
        PreferredSchedulingTerm(weight=1, preference=NodeSelectorTerm(match_expressions=[expression]))
        for expression in (GOOD, requirement("zone", "Around", "a"))
    ]
    message = refusal(Affinity(node_affinity=NodeAffinity(preferred=terms)))
    where = f"{PREFERENCE}.matchExpressions[0].operator"
    assert message == f"{where} is 'Around': use In, NotIn, Exists, DoesNotExist, Gt or Lt"


def test_so_many_requirements_that_they_would_slow_the_scheduler_are_refused() -> None:
    assert refusal(expressions(*[GOOD] * MOST_REQUIREMENTS)) is None
    assert refusal(expressions(*[GOOD] * (MOST_REQUIREMENTS + 1))) == (
        "spec.affinity.nodeAffinity has 1001 requirements: at most 1000 are evaluated; list values of the same key in "
        "one requirement"
    )


@pytest.mark.parametrize(
    "key", ["zone", "Zone.1_a", "topology.kubernetes.io/zone", "a.b-c.d/E", "x" * 63, "a" * 253 + "/x"]
)
def test_keys_that_kubernetes_takes_are_taken(key: str) -> None:
    assert refusal(expressions(requirement(key, "Exists"))) is None


@pytest.mark.parametrize(
    "key", ["x" * 64, "a" * 254 + "/x", "/x", "x/", "-x", "x.", "UPPER.example/x", "a..b/x", "x\n"]
)
def test_keys_that_kubernetes_refuses_are_refused(key: str) -> None:
    assert refusal(expressions(requirement(key, "Exists"))) is not None


def test_nothing_is_read_where_affinity_is_switched_off() -> None:
    opened = opened_with(expressions(requirement("zone", "Like", "a")), NodeAffinityEnable=False)
    assert opened.ssn.ask.pre_predicate(class_of(opened, "bad")) is None
    assert willing(opened, Predicates, "bad") == ["n1"]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"a/b/c": "x"}, "spec.nodeSelector is 'a/b/c': name a label, such as topology.kubernetes.io/zone"),
        ({"zone": "b c"}, "spec.nodeSelector[zone] is 'b c': a label cannot have this value; correct it"),
    ],
)
def test_a_malformed_node_selector_is_reported(selector: dict[str, str], message: str) -> None:
    bad = pod("bad", group="g", node_selector=selector)
    assert refusal(bad) == message


@pytest.mark.parametrize(
    ("toleration", "message"),
    [
        (
            Toleration(key="dedicated", operator="Like", value="ml"),
            "spec.tolerations[1].operator is 'Like': use Equal, Exists, Gt or Lt",
        ),
        (
            Toleration(key="dedicated", operator="Exists", effect="NoEntry"),
            "spec.tolerations[1].effect is 'NoEntry': use NoSchedule, PreferNoSchedule or NoExecute, or none for all",
        ),
        (
            Toleration(key="rank", operator="Gt", value="high"),
            "spec.tolerations[1].value is 'high': Gt needs an integer",
        ),
    ],
)
def test_a_malformed_toleration_is_reported_with_its_place(toleration: Toleration, message: str) -> None:
    bad = pod("bad", group="g", tolerations=[Toleration(operator="Exists", effect="NoSchedule"), toleration])
    assert refusal(bad) == message


def test_neither_is_read_where_its_filter_is_switched_off() -> None:
    selecting = pod("bad", group="g", node_selector={"zone": "b c"})
    tolerating = pod("bad", group="g", tolerations=[Toleration(key="dedicated", operator="Like")])
    for bad, switch in ((selecting, "NodeAffinityEnable"), (tolerating, "TaintTolerationEnable")):
        opened = opened_with(bad, **{switch: False})
        assert opened.ssn.ask.pre_predicate(class_of(opened, "bad")) is None
        assert willing(opened, Predicates, "bad") == ["n1"]
