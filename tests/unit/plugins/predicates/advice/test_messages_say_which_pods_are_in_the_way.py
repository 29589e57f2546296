"""A pod that no node takes on account of other pods gets a message that says who they are, where they are, and what
would help.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cycles import Cycles
from tests.support.placement.neighbours import HOST, ZONE, apart, near, term, with_selector
from tests.support.sessions import node, pod, pod_group
from tests.unit.plugins.predicates.advice.test_messages_say_what_nodes_lack import reported
from volcano_py.api.effects import PodCondition
from volcano_py.api.objects import ApiObject, LabelSelector, SelectorRequirement, TopologySpreadConstraint
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates

NODES = [node(name, labels={HOST: name, ZONE: zone}) for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))]
WEB = {"app": "web"}


def web(*on: str) -> list[ApiObject]:
    return [pod(f"web-{number}", cpu="1", labels=WEB, on=name) for number, name in enumerate(on)]


# -- host ports ------------------------------------------------------------------------------------------------------


def test_the_holder_of_the_host_port_is_reported() -> None:
    holders = [pod(f"old-{name.metadata.name}", host_ports=[80, 443], on=name.metadata.name) for name in NODES]
    assert reported(NODES, holders, host_ports=[80, 90]) == (
        "Host port 80/TCP is taken by team/old-n1 on n1, team/old-n2 on n2, team/old-n3 on n3: wait for that to end, "
        "or choose another hostPort."
    )


def test_of_several_host_ports_the_taken_ones_are_reported_and_pods_elsewhere_are_not() -> None:
    other = pod("other", host_ports=[80], on="n2")
    message = reported(
        [*NODES[:1], node("n2", unschedulable=True)],
        pod("old", host_ports=[80, 90], on="n1"),
        other,
        host_ports=[80, 90],
    )
    assert message.startswith(
        "Host ports 80/TCP, 90/TCP are taken by team/old on n1: wait for that to end, or choose another hostPort. "
    )


# -- affinity --------------------------------------------------------------------------------------------------------


def test_affinity_to_pods_that_do_not_run_names_the_pods_to_start() -> None:
    assert reported(NODES, affinity=near(term(ZONE, app="db"))) == (
        f"podAffinity requires the same {ZONE} as pods with app=db in namespace team, and none of those has a node: "
        "start them, or correct the labelSelector."
    )


def test_affinity_on_nodes_without_the_topology_names_the_label() -> None:
    assert reported(NODES, web("n1"), affinity=near(term("rack", app="web"))).endswith(
        "and no node has label rack: label nodes or correct topologyKey."
    )


def test_affinity_to_pods_outside_the_topology_names_the_missing_label() -> None:
    outside = [*NODES, node("bare", labels={HOST: "bare"})]
    assert reported(outside, web("bare"), affinity=near(term(ZONE, app="web"))) == (
        f"podAffinity requires the same {ZONE} as pods with app=web in namespace team, which are team/web-0 on bare, "
        f"without label {ZONE} there: label their nodes or correct topologyKey."
    )


def test_affinity_to_pods_on_full_nodes_names_the_nodes() -> None:
    large = [node("n1", labels={HOST: "n1"}, cpu="2"), node("n2", labels={HOST: "n2"}, cpu="8")]
    message = reported(large, web("n1"), cpu="4", affinity=near(term(app="web")))
    assert message.endswith(
        f"podAffinity requires the same {HOST} as pods with app=web in namespace team, which are team/web-0 on n1: "
        "free space near them, or make the affinity preferred."
    )


def test_selectors_are_written_as_kubectl_takes_them() -> None:
    conditions = [
        SelectorRequirement(key="tier", operator="NotIn", values=["test"]),
        SelectorRequirement(key="app", operator="In", values=["db", "cache"]),
        SelectorRequirement(key="gone", operator="DoesNotExist"),
    ]
    wanted = with_selector(
        term(ZONE), label_selector=LabelSelector(match_expressions=conditions), namespace_selector=LabelSelector()
    )
    assert " as pods with app in (cache, db), no gone, tier!=test in any namespace, and" in reported(
        NODES, affinity=near(wanted)
    )


# -- anti-affinity ---------------------------------------------------------------------------------------------------


def test_the_pods_that_a_pod_must_be_apart_from_are_named() -> None:
    assert reported(NODES, web("n1", "n3"), affinity=apart(term(ZONE, app="web"))) == (
        f"podAntiAffinity requires a different {ZONE} from that of pods with app=web in namespace team, such as "
        "team/web-0 on n1, "
        "team/web-1 on n3: add nodes, or make it preferred."
    )


def test_pods_that_keep_others_away_are_reported() -> None:
    lonely = [pod(f"lonely-{name}", cpu="1", on=name, affinity=apart(term(app="web"))) for name in ("n1", "n2", "n3")]
    assert reported(NODES, lonely, labels=WEB) == (
        f"podAntiAffinity over {HOST} of team/lonely-n1 on n1, team/lonely-n2 on n2, team/lonely-n3 on n3 excludes "
        "pods with app=web in namespace team: wait until those are gone, or add nodes."
    )


# -- topology spread -------------------------------------------------------------------------------------------------


def spread(key: str = ZONE, **fields: Any) -> list[TopologySpreadConstraint]:
    selector = LabelSelector(match_labels=WEB)
    usual: dict[str, Any] = {
        "max_skew": 1,
        "topology_key": key,
        "when_unsatisfiable": "DoNotSchedule",
        "label_selector": selector,
    }
    return [TopologySpreadConstraint(**{**usual, **fields})]


def test_the_message_says_where_a_spread_pod_may_still_go() -> None:
    full = [*NODES[:2], node("n3", labels={ZONE: "b"}, cpu="1")]
    message = reported(full, web("n1"), cpu="2", labels=WEB, spread=spread())
    assert message.endswith(
        f"topologySpreadConstraints over {ZONE} with maxSkew 1 allow only b: free space there, or raise maxSkew."
    )


def test_too_few_domains_are_reported() -> None:
    message = reported(NODES, web("n1", "n3"), labels=WEB, spread=spread(min_domains=3))
    assert message == (
        f"topologySpreadConstraints over {ZONE} with maxSkew 1 and minDomains 3 allow no domain, because there are "
        "2: label nodes of other domains, or lower minDomains."
    )


def test_nodes_without_the_topology_label_are_named() -> None:
    bare = [node(f"bare-{number}") for number in range(5)]
    assert reported(bare, labels=WEB, spread=spread()) == (
        f"topologySpreadConstraints need label {ZONE}, which these nodes lack: bare-0, bare-1, bare-2 and 2 more; "
        "label them."
    )


# -- from one cycle to the next ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"host_ports": [80]},
        {"labels": WEB, "affinity": apart(term(app="web"))},
        {"labels": WEB, "spread": spread()},
        {"node_selector": {"gpu": "a100"}},
    ],
    ids=["ports", "anti-affinity", "spread", "labels"],
)
def test_a_gang_that_is_too_large_gets_the_same_message_however_ties_fall(asked: dict[str, Any]) -> None:
    """Where its members were tried is another place in each cycle; what is reported must not be."""
    crowd = [pod(f"w-{number}", cpu="3", group="w", **asked) for number in range(5)]
    old = pod("web-0", on="n1", cpu="1", **asked)
    messages = set()
    for seed in range(8):
        cycles = Cycles(NODES, old, pod_group("w", min_member=5), crowd, plugins=[Gang, Predicates], seed=seed)
        cycles.run()
        messages.add(frozenset(each.message for each in cycles.effects if isinstance(each, PodCondition)))
    assert len(messages) == 1, messages
    assert any("NodesRefuse: " in message for message in messages.pop())
