"""Limits of a queue in a node group: what is placed, taken back and evicted within a cycle counts at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.node_answers import answers, refusing_for_good, scores, willing
from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.api.names import NODE_GROUP, NODE_GROUP_LIMITS
from volcano_py.api.objects import Queue
from volcano_py.api.reasons import Reason
from volcano_py.framework.plugin import Reach
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.nodegroup import NodeGroup

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def grouped(name: str, group: str) -> Any:
    return node(name, cpu="8", labels={NODE_GROUP: group})


def ruled(name: str, limits: str = "", **affinity: Any) -> Queue:
    """A queue with rules."""
    made = queue(name)
    metadata = msgspec.structs.replace(made.metadata, annotations={NODE_GROUP_LIMITS: limits} if limits else {})
    return msgspec.structs.replace(made, metadata=metadata, spec=msgspec.structs.replace(made.spec, affinity=affinity))


LIMITED = ruled(
    "q",
    '{"a": {"cpu": "3", "example.com/unheard-of": 1}, "nowhere": {"cpu": 0}}',
    nodeGroupAffinity={REQUIRED: ["a", "b"]},
)


def opened_with(*more: Any, rules: Queue = LIMITED) -> Opened:
    return open_session(
        grouped("a1", "a"),
        grouped("a2", "a"),
        grouped("b1", "b"),
        node("plain"),
        rules,
        gang("job", pods=4, queue="q", cpu="1"),
        *more,
        tiers=[[Gang, NodeGroup]],
    )


def test_the_group_is_full_wherever_in_it_the_pods_are() -> None:
    opened = opened_with()
    assert willing(opened, NodeGroup, "job-0") == ["a1", "a2", "b1"]
    statement = opened.place("job", {"job-0": "a1", "job-1": "a2", "job-2": "a2"})
    assert willing(opened, NodeGroup, "job-3") == ["b1"]
    assert answers(opened, NodeGroup, "job-3")["a1"] == "node(s) were in a node group whose limit queue q has reached"
    statement.discard()
    assert willing(opened, NodeGroup, "job-3") == ["a1", "a2", "b1"]


def test_promised_places_count_even_before_the_first_question() -> None:
    opened = opened_with()
    opened.pipeline("job", {"job-0": "a1", "job-1": "a2", "job-2": "a2"})
    assert willing(opened, NodeGroup, "job-3") == ["b1"]


def test_a_pod_without_limited_resources_is_admitted_however_full_the_group_is() -> None:
    full = gang("full", running_on=["a1"], queue="q", cpu="5")
    opened = opened_with(full, gang("other", queue="q", cpu="0"))
    assert willing(opened, NodeGroup, "job-0") == ["b1"]
    assert willing(opened, NodeGroup, "other-0") == ["a1", "a2", "b1"]


def test_a_full_group_that_the_queue_may_not_use_is_reported_as_unusable() -> None:
    opened = opened_with(rules=ruled("q", '{"a": {"cpu": "0"}}', nodeGroupAffinity={REQUIRED: ["b"]}))
    assert answers(opened, NodeGroup, "job-0")["a1"] == "node(s) were in no node group of queue q"


def advice(opened: Opened) -> str:
    message = opened.ssn.placer.misfit(opened.task("job-0").task_class).refusal.message
    return message.replace("\n", " ").partition(" are unavailable: ")[2].partition(". ")[2]


def test_the_groups_of_a_queue_are_reported() -> None:
    assert advice(opened_with(rules=ruled("q", nodeGroupAffinity={REQUIRED: ["x", "y"]}))) == (
        f"Queue q uses nodes with label {NODE_GROUP} x, y: label more so, or name others in spec.affinity of the queue."
    )


def test_the_message_says_that_the_queue_has_no_groups() -> None:
    assert advice(opened_with(rules=ruled("q"))) == (
        "Queue q uses none of the node groups: add nodes that are in no group, or name others in spec.affinity of the "
        "queue."
    )


def test_a_reached_limit_is_reported_with_the_amounts() -> None:
    limited = ruled("q", '{"a": {"cpu": "1"}}', nodeGroupAffinity={REQUIRED: ["a"]})
    held = gang("old", queue="q", cpu="1", running_on=["a1"])
    assert advice(opened_with(held, rules=limited)).endswith(
        f"Wait until pods of queue q there end, or raise its annotation {NODE_GROUP_LIMITS}."
    )


@pytest.mark.parametrize("more", [[], gang("old", queue="q", cpu="1m", running_on=["a1"])], ids=["empty", "held"])
def test_a_job_that_exceeds_a_limit_alone_is_not_advised_to_wait(more: list[Any]) -> None:
    limited = ruled("q", '{"a": {"cpu": "500m"}, "b": {"cpu": 1}}', nodeGroupAffinity={REQUIRED: ["a"]})
    assert advice(opened_with(more, rules=limited)).endswith(
        f"Ask for no more than that limit, or raise its annotation {NODE_GROUP_LIMITS}."
    )


def test_evictions_do_not_help_against_groups() -> None:
    opened = opened_with(gang("old", pods=3, queue="q", cpu="1", running_on=["a1"] * 3))
    assert refusing_for_good(opened, NodeGroup, "job-0") == ["a1", "a2", "plain"]


def test_pods_placed_outside_do_not_count() -> None:
    opened = opened_with()
    opened.place("job", {"job-0": "b1", "job-1": "plain", "job-2": "a1"})
    assert willing(opened, NodeGroup, "job-3") == ["a1", "a2", "b1"]


def test_what_runs_counts_until_it_is_evicted() -> None:
    opened = opened_with(
        gang("old", pods=3, queue="q", cpu="1", running_on=["a1"] * 3), gang("else", cpu="5", running_on=["a1"])
    )
    assert willing(opened, NodeGroup, "job-0") == ["b1"]
    opened.evict("old-0")
    assert willing(opened, NodeGroup, "job-0") == ["a1", "a2", "b1"]


def test_only_queues_with_a_limit_are_looked_at_again_after_each_pod() -> None:
    assert opened_with().plugin(NodeGroup).predicate_reach(opened_with().task("job-0").task_class) is Reach.DOMAIN
    opened = opened_with(rules=ruled("q", nodeGroupAffinity={REQUIRED: ["a"]}))
    assert opened.plugin(NodeGroup).predicate_reach(opened.task("job-0").task_class) is Reach.STATIC


def test_scores_are_by_group() -> None:
    rules = ruled(
        "q",
        nodeGroupAffinity={REQUIRED: ["a"], PREFERRED: ["a", "b"]},
        nodeGroupAntiAffinity={PREFERRED: ["c"]},
    )
    opened = opened_with(grouped("c1", "c"), rules=rules)
    assert scores(opened, NodeGroup, "job-0") == {"a1": 150, "a2": 150, "b1": 50, "c1": -1, "plain": 0}


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(ruled("q", "[]"), id="limits are no mapping"),
        pytest.param(ruled("q", '{"a": {"cpu": "much"}}'), id="no quantity"),
        pytest.param(ruled("q", '{"a": {"cpu": "-1"}}'), id="negative"),
        pytest.param(ruled("q", '{"a": 3}'), id="no amounts"),
        pytest.param(ruled("q", nodeGroupAffinity=["a"]), id="no mapping"),
        pytest.param(ruled("q", nodeGroupAntiAffinity={PREFERRED: [1]}), id="no names"),
    ],
)
def test_rules_that_cannot_be_read_refuse_with_the_field(broken: Queue) -> None:
    opened = opened_with(rules=broken)
    refusal = opened.ssn.ask.pre_predicate(opened.task("job-0").task_class)
    assert refusal is not None
    assert refusal.reason is Reason.INVALID_QUEUE
    assert refusal.message.startswith("queue q: ")
    assert "annotation volcano.sh/" in refusal.message or "spec.affinity." in refusal.message
    assert willing(opened, NodeGroup, "job-0") == []
    assert not opened.ssn.dispatch.failures.counts


groups = st.lists(st.sampled_from(["a", "b", "c"]), unique=True)


@given(required=groups, preferred=groups, anti_required=groups, anti_preferred=groups, strict=st.booleans())
def test_every_combination_follows_the_rule(
    required: list[str], preferred: list[str], anti_required: list[str], anti_preferred: list[str], strict: bool
) -> None:
    rules = ruled(
        "q",
        nodeGroupAffinity={REQUIRED: required, PREFERRED: preferred},
        nodeGroupAntiAffinity={REQUIRED: anti_required, PREFERRED: anti_preferred},
    )
    opened = open_session(
        *(grouped(f"{group}1", group) for group in "abc"),
        node("plain"),
        rules,
        gang("job", queue="q", cpu="1"),
        tiers=[[Gang, (NodeGroup, {"arguments": {"strict": strict}})]],
    )
    expected = [
        f"{group}1"
        for group in "abc"
        if ((group in required or group in preferred) and group not in anti_required) or group in anti_preferred
    ]
    has_rules = bool(required or preferred or anti_required or anti_preferred)
    assert willing(opened, NodeGroup, "job-0") == expected + ([] if strict or has_rules else ["plain"])
