"""How the answers of several plugins become one: votes, ceilings, orders, and-ed and or-ed tests."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

from tests.support.sessions import Opened, gang, node, open_session, pod, pod_group, queue
from volcano_py.api.reasons import Reason
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.votes import ABSTAIN, PERMIT, PLENTY, Ballot, Room, Vote, reject
from volcano_py.state.task_class import Refusal

NO = reject(Reason.REFUSED_BY_PLUGIN, "not today")
P, A, N = PERMIT, ABSTAIN, NO
_numbers = count(1)


def saying(point: str, answer: Any) -> type[Plugin]:
    """A plugin that always gives one answer; `asked` counts how often."""

    def report(self: Any, *args: Any) -> Any:
        type(self).asked += 1
        return answer(*args) if callable(answer) else answer

    return type("Says", (Plugin,), {"name": f"says-{next(_numbers)}", point: report, "asked": 0})


def opened_with(*tiers: list[type[Plugin]], **options: Any) -> Opened:
    jobs = [*gang("a", pods=2, cpu="1", queue="q1"), *gang("b", cpu="1")]
    return open_session(node("n1"), queue("q1"), jobs, tiers=list(tiers) or [[]], **options)


# -- votes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["job_enqueueable", "job_pipelined"])
@pytest.mark.parametrize(
    ("tiers", "outcome", "asked"),
    [
        pytest.param([], True, [], id="no plugin"),
        pytest.param([[A], [A]], True, [1, 1], id="all abstain"),
        pytest.param([[P]], True, [1], id="one permits"),
        pytest.param([[N]], False, [1], id="one rejects"),
        pytest.param([[P, N]], False, [1, 1], id="a no in the tier outweighs a yes"),
        pytest.param([[N], [P]], False, [1, 0], id="a no ends the walk"),
        pytest.param([[P], [N]], True, [1, 0], id="a yes hides later tiers"),
        pytest.param([[A], [N]], False, [1, 1], id="an abstention does not"),
        pytest.param([[A, P], [N]], True, [1, 1, 0], id="one yes is enough for the tier"),
        pytest.param([[A], [P], [N]], True, [1, 1, 0], id="the first tier with a yes decides"),
    ],
)
def test_votes(point: str, tiers: list[list[Ballot]], outcome: bool, asked: list[int]) -> None:
    plugins = [[saying(point, ballot) for ballot in tier] for tier in tiers]
    opened = opened_with(*plugins)
    job = opened.job("a")
    found = opened.ssn.ask.job_pipelined(job) if point == "job_pipelined" else opened.ssn.ask.job_enqueueable(job)
    assert (found if isinstance(found, bool) else found.vote is not Vote.REJECT) is outcome
    assert [getattr(plugin, "asked", None) for tier in plugins for plugin in tier] == asked


def test_a_rejection_carries_its_reason() -> None:
    opened = opened_with([saying("job_enqueueable", NO)])
    found = opened.ssn.ask.job_enqueueable(opened.job("a"))
    assert found.refusal == Refusal(Reason.REFUSED_BY_PLUGIN, "not today")


@pytest.mark.parametrize("reason", [Reason.QUEUE_CLOSED, Reason.OVER_CAPABILITY, Reason.OVER_QUOTA])
@pytest.mark.parametrize("first", [0, 1])
def test_a_full_cluster_is_no_answer_where_more_nodes_would_not_let_the_job_in(reason: Reason, first: int) -> None:
    refusals = [reject(Reason.CLUSTER_OVERCOMMITTED, "add nodes"), reject(reason, "this comes first")]
    tier = [saying("job_enqueueable", refusals[first]), saying("job_enqueueable", refusals[1 - first])]
    opened = opened_with(tier)
    assert opened.ssn.ask.job_enqueueable(opened.job("a")) == refusals[1]


def test_a_plugin_whose_switch_is_off_has_no_vote() -> None:
    no = saying("job_enqueueable", NO)
    opened = open_session(gang("a"), tiers=[[(no, {"enableJobEnqueued": False})]])
    assert opened.ssn.ask.job_enqueueable(opened.job("a")).vote is Vote.PERMIT


# -- all, any, the first tier ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "ready"), [([], True), ([True, True], True), ([True, False], False), ([False, True], False)]
)
def test_a_job_is_ready_when_all_agree(answers: list[bool], ready: bool) -> None:
    opened = opened_with(*[[saying("job_ready", answer)] for answer in answers])
    assert opened.ssn.ask.job_ready(opened.job("a")) is ready


@pytest.mark.parametrize(
    ("tiers", "starving"),
    [
        pytest.param([], False, id="no plugin: never"),
        pytest.param([[True], [False]], True, id="the first tier decides"),
        pytest.param([[False], [True]], False, id="either way"),
        pytest.param([[True, False]], False, id="all of it must agree"),
        pytest.param([[], [True, True]], True, id="tiers without an opinion are passed over"),
    ],
)
def test_a_job_starves_by_the_first_tier_that_has_an_opinion(tiers: list[list[bool]], starving: bool) -> None:
    opened = opened_with(*[[saying("job_starving", answer) for answer in tier] for tier in tiers])
    assert opened.ssn.ask.job_starving(opened.job("a")) is starving


@pytest.mark.parametrize(("answers", "overused"), [([], False), ([False, True], True), ([False, False], False)])
def test_a_queue_is_overused_when_anyone_says_so(answers: list[bool], overused: bool) -> None:
    opened = opened_with(*[[saying("overused", answer)] for answer in answers])
    assert opened.ssn.ask.overused(opened.ssn.queues["q1"]) is overused


@pytest.mark.parametrize(("answers", "allowed"), [([], True), ([True, True], True), ([True, False], False)])
def test_a_queue_may_reclaim_when_all_agree(answers: list[bool], allowed: bool) -> None:
    opened = opened_with(*[[saying("preemptive", answer)] for answer in answers])
    assert opened.ssn.ask.preemptive(opened.ssn.queues["q1"], opened.rows("a-0")) is allowed


def test_the_narrowest_room_holds_with_its_reason() -> None:
    tight = Room(2, Refusal(Reason.OVER_CAPABILITY, "two"))
    opened = opened_with(
        [saying("allocatable", Room(5)), saying("allocatable", tight)], [saying("allocatable", PLENTY)]
    )
    assert opened.ssn.ask.allocatable(opened.ssn.queues["q1"], opened.task("a-0").task_class) == tight


def test_there_is_plenty_of_room_when_no_plugin_limits_it() -> None:
    opened = opened_with()
    assert opened.ssn.ask.allocatable(opened.ssn.queues["q1"], opened.task("a-0").task_class) == PLENTY


def test_the_largest_number_of_missing_tasks_holds() -> None:
    opened = opened_with([saying("tasks_to_ready", 2), saying("tasks_to_ready", 7)])
    assert opened.ssn.ask.tasks_to_ready(opened.job("a")) == 7
    assert opened_with().ssn.ask.tasks_to_ready(opened.job("a")) == 1


@pytest.mark.parametrize("point", ["job_valid", "pre_predicate"])
def test_the_first_refusal_wins(point: str) -> None:
    first, second = (Refusal(Reason.REFUSED_BY_PLUGIN, text) for text in ("first", "second"))
    opened = opened_with([saying(point, None), saying(point, first)], [saying(point, second)])
    ssn = opened.ssn
    found = (
        ssn.ask.job_valid(opened.job("a"))
        if point == "job_valid"
        else ssn.ask.pre_predicate(opened.task("a-0").task_class)
    )
    assert found == first


def test_job_validity_has_no_switch() -> None:
    refusal = Refusal(Reason.REFUSED_BY_PLUGIN, "never")
    flags = {"enableJobReady": False, "enableJobOrder": False, "enablePredicate": False}
    opened = open_session(gang("a"), tiers=[[(saying("job_valid", refusal), flags)]])
    assert opened.ssn.ask.job_valid(opened.job("a")) == refusal


# -- orders ------------------------------------------------------------------------------------------------------


def by(mapping: dict[str, Any]) -> Any:
    return lambda job: mapping[job.info.ref.name]


def test_job_keys_are_compared_in_tier_order() -> None:
    first = saying("job_order", by({"a": 1, "b": 1, "c": 0}))
    second = saying("job_order", by({"a": 2, "b": 1, "c": 9}))
    opened = open_session(*[gang(name, cpu="1") for name in "abc"], tiers=[[first], [second]])
    jobs = sorted(opened.ssn.all_jobs(), key=opened.ssn.ask.job_key)
    assert [job.info.ref.name for job in jobs] == ["c", "b", "a"]


def test_jobs_without_a_key_go_by_age_and_then_by_name() -> None:
    opened = open_session(gang("b", age=5), gang("z", age=9), gang("a", age=5), gang("y"))
    jobs = sorted(opened.ssn.all_jobs(), key=opened.ssn.ask.job_key)
    assert [job.info.ref.name for job in jobs] == ["z", "a", "b", "y"]


def test_queues_without_a_key_go_by_age_and_then_by_name() -> None:
    opened = open_session(queue("b", age=5), queue("z", age=9), queue("a", age=5), queue("default"))
    queues = sorted(opened.ssn.queues.values(), key=opened.ssn.ask.queue_key)
    assert [seen.name for seen in queues] == ["z", "a", "b", "default"]


def ordered(opened: Opened, *names: str) -> list[str]:
    return opened.names(opened.ssn.ask.ordered_tasks(opened.rows(*names)))


def test_tasks_go_by_their_number_then_by_age() -> None:
    members = [
        pod("g-w-10", group="g"),
        pod("g-w-2", group="g", age=-50),
        pod("g-w-1", group="g"),
        pod("g-x-1", group="g", age=10),
    ]
    opened = open_session(pod_group("g"), members)
    assert ordered(opened, "g-w-10", "g-w-2", "g-w-1", "g-x-1") == ["g-x-1", "g-w-1", "g-w-2", "g-w-10"]


def test_the_order_of_equal_tasks_does_not_hang_on_the_order_of_events() -> None:
    members = [pod(f"p{index}", group="g") for index in range(6)]
    one = open_session(pod_group("g"), members)
    other = open_session(pod_group("g"), list(reversed(members)))
    names = [member.metadata.name for member in members]
    assert ordered(one, *names) == ordered(other, *names)


def test_task_keys_of_plugins_come_first() -> None:
    def last_first(rows: Any) -> Any:
        return -rows.astype(np.float64)

    opened = open_session(
        pod_group("g"),
        [pod(f"g-w-{index}", group="g") for index in range(3)],
        tiers=[[saying("task_order", lambda rows: np.zeros(len(rows)))], [saying("task_order", last_first)]],
    )
    assert ordered(opened, "g-w-0", "g-w-1", "g-w-2") == ["g-w-2", "g-w-1", "g-w-0"]


# -- nodes -------------------------------------------------------------------------------------------------------


def test_scores_add_up_and_equal_ones_go_by_name() -> None:
    def prefers(*scores: float) -> Any:
        return lambda _class, view: np.array(scores)[view.rows]

    nodes = [node("n1"), node("n2"), node("n3")]
    opened = open_session(
        nodes,
        gang("a", cpu="1"),
        tiers=[[saying("node_order", prefers(1, 5, 2))], [saying("batch_node_order", prefers(3, 0, 3))]],
    )
    chosen = opened.ssn.placer.choose(opened.task("a-0").task_class, 1).nodes
    assert [opened.ssn.snapshot.nodes[row].name for row in chosen.tolist()] == ["n2"]


def test_the_first_refusal_of_a_node_is_the_one_that_counts() -> None:
    def refusing(reason: str, *names: str) -> type[Plugin]:
        class Refuses(Plugin):
            name = f"refuses-{reason}"

            def on_session_open(self, ssn: Any) -> None:
                self.code = ssn.refusal(Reason.NODES_REFUSE, reason)
                self.refused = np.isin(ssn.nodes.names, names)

            def predicate(self, task_class: Any, view: Any) -> Any:
                return np.where(self.refused[view.rows], self.code, 0).astype(np.int32)

        return Refuses

    opened = open_session(
        [node("n1"), node("n2"), node("n3", cpu="1")],
        gang("a", cpu="2"),
        tiers=[[refusing("smells", "n1")], [refusing("looks odd", "n1", "n2")]],
    )
    error = opened.ssn.placer.misfit(opened.task("a-0").task_class)
    assert error.counts == {"smells": 1, "looks odd": 1, "Insufficient cpu": 1}
    assert error.nodes == 3


def test_the_first_best_node_is_taken_whatever_the_scores_say() -> None:
    opened = open_session(
        [node("n1"), node("n2"), node("n3")],
        gang("a", pods=3, cpu="1"),
        tiers=[
            [saying("node_order", lambda _class, view: view.rows.astype(np.float64))],
            [saying("best_node", None), saying("best_node", 0), saying("best_node", 1)],
        ],
    )
    chosen = opened.ssn.placer.choose(opened.task("a-0").task_class, 3).nodes
    assert [opened.ssn.snapshot.nodes[row].name for row in chosen.tolist()] == ["n1"]
