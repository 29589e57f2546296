"""The time of a cycle, failures in a row, and when an extender is asked again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.extender import DOWN, URL, Scripted, configuration, simulation
from tests.support.sessions import NOW, gang, node, priority_class
from volcano_py.api.extender.answers import PredicateAnswer
from volcano_py.api.extender.client import Failure, Question
from volcano_py.plugins.extender.arguments import ExtenderArguments
from volcano_py.plugins.extender.line import FAILURES_IN_A_ROW, LEFT_ALONE_FOR, Line
from volcano_py.plugins.extender.plugin import AGAIN

MOMENT = NOW.timestamp()
FITS: dict[str, Any] = {"status": ""}


def line(
    client: Scripted,
    memory: dict[str, Any] | None = None,
    now: float = MOMENT,
    arguments: Mapping[str, str] | None = None,
) -> Line:
    given = ExtenderArguments.model_validate({"extender.urlPrefix": URL, **(arguments or {})})
    return Line(client, given, {} if memory is None else memory, now)


def ask(line: Line, count: int, *, is_owed: bool = False) -> list[PredicateAnswer | Failure]:
    return line.ask("predicate", [Question("", lambda: b"{}")] * count, PredicateAnswer, is_owed=is_owed)


def test_questions_are_sent_sixteen_at_a_time() -> None:
    client = Scripted({"predicate": FITS})
    assert ask(line(client), 40) == [PredicateAnswer()] * 40
    assert client.together == [16, 16, 8]


def test_a_cycle_waits_no_longer_than_its_budget() -> None:
    client = Scripted({"predicate": FITS}, seconds=2.0)
    answers = ask(line(client, arguments={"extender.cycleBudget": "5s", "extender.httpTimeout": "2s"}), 100)
    assert client.within == pytest.approx([2.0, 2.0, 1.0], abs=0.1)
    assert answers[47] == PredicateAnswer()
    assert answers[48:] == [Failure("has used up the time of the cycle (extender.cycleBudget)")] * 52


def test_what_undoes_something_is_sent_beyond_the_budget() -> None:
    client = Scripted({"predicate": FITS}, seconds=9.0)
    asking = line(client)
    ask(asking, 1)
    assert isinstance(ask(asking, 1)[0], Failure)
    assert ask(asking, 1, is_owed=True) == [PredicateAnswer()]
    assert isinstance(ask(asking, 1, is_owed=True)[0], Failure), "twice the budget is used up"


def test_after_some_failures_in_a_row_nothing_is_asked_for_some_seconds() -> None:
    client, memory = Scripted({"predicate": DOWN}), dict[str, Any]()
    first = line(client, memory)
    for _ in range(FAILURES_IN_A_ROW):
        assert ask(first, 1) == [DOWN]
    assert ask(first, 1) == [DOWN], "the same words: messages that change are written again"
    assert isinstance(ask(first, 1, is_owed=True)[0], Failure)
    assert isinstance(ask(line(client, memory, MOMENT + LEFT_ALONE_FOR - 1), 1)[0], Failure)
    assert len(client.asked) == FAILURES_IN_A_ROW
    client.script = {"predicate": FITS}
    assert ask(line(client, memory, MOMENT + LEFT_ALONE_FOR + 1), 1) == [PredicateAnswer()]


def test_an_extender_that_was_left_alone_is_given_one_chance_at_a_time() -> None:
    client, memory = Scripted({"predicate": DOWN}), dict[str, Any]()
    ask(line(client, memory), FAILURES_IN_A_ROW)
    again = line(client, memory, MOMENT + LEFT_ALONE_FOR + 1)
    assert [ask(again, 1) for _ in range(3)] == [[DOWN]] * 3
    assert len(client.asked) == FAILURES_IN_A_ROW + 1
    client.script = {"predicate": FITS}
    healthy = line(client, memory, MOMENT + 2 * LEFT_ALONE_FOR + 3)
    assert ask(healthy, 1) == [PredicateAnswer()]
    client.script = {"predicate": DOWN}
    ask(healthy, 1)
    client.script = {"predicate": FITS}
    assert ask(healthy, 1) == [PredicateAnswer()]


def test_another_address_is_asked_at_once() -> None:
    client, memory = Scripted({"predicate": DOWN}), dict[str, Any]()
    ask(line(client, memory), FAILURES_IN_A_ROW)
    client.script = {"predicate": FITS}
    moved = line(client, memory, arguments={"extender.urlPrefix": "http://elsewhere"})
    assert ask(moved, 1) == [PredicateAnswer()]


def test_questions_that_are_not_sent_are_not_made() -> None:
    def made() -> bytes:
        raise AssertionError

    memory = dict[str, Any]()
    ask(line(Scripted({"predicate": DOWN}), memory), FAILURES_IN_A_ROW)
    assert line(Scripted({}), memory).ask("predicate", [Question("", made)], PredicateAnswer) == [DOWN]


def test_time_for_making_questions_counts() -> None:
    def made() -> bytes:
        time.sleep(0.02)
        return b"{}"

    asking = line(Scripted({"predicate": FITS}), arguments={"extender.cycleBudget": "100ms"})
    answers = asking.ask("predicate", [Question("", made)] * 64, PredicateAnswer)
    assert [isinstance(each, Failure) for each in answers] == [False] * 16 + [True] * 48


def test_an_answer_in_between_begins_the_count_anew() -> None:
    client, memory = Scripted({"predicate": DOWN}), dict[str, Any]()
    for _ in range(3):
        client.script = {"predicate": DOWN}
        for _ in range(FAILURES_IN_A_ROW - 1):
            ask(line(client, memory), 1)
        client.script = {"predicate": FITS}
        assert ask(line(client, memory), 1) == [PredicateAnswer()]


def test_names_of_fields_may_be_in_any_case_and_unknown_ones_are_ignored() -> None:
    client = Scripted({"predicate": {"Status": "no", "CODE": 3, "more": [1]}})
    assert ask(line(client), 1) == [PredicateAnswer("no", 3)]


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{", b'{"status": 1}', b'{"code": "x"}', b"\xff", b"[" * 99_999]
)
def test_an_answer_that_is_none_counts_as_a_failure(body: bytes) -> None:
    (answer,) = ask(line(Scripted({"predicate": body})), 1)
    assert isinstance(answer, Failure)
    assert answer.why.startswith("answered with JSON that")
    assert len(answer.why) < 200


@pytest.mark.parametrize(
    "address", ["", "extender:80", "ftp://a/b", "http://", "http://a:0", "http://[::1", "http://a:x"]
)
def test_without_a_valid_address_nothing_is_asked(address: str) -> None:
    client = Scripted({})
    answer = ask(line(client, arguments={"extender.urlPrefix": address}), 1)
    assert answer == [Failure("has no valid address (extender.urlPrefix)")]


@pytest.mark.parametrize(
    ("verb", "answer"),
    [("predicate", {"status": "no"}), ("enqueueable", {"status": -1}), ("overused", {"overused": True})],
)
def test_what_waits_for_the_extender_is_asked_about_again(verb: str, answer: dict[str, Any]) -> None:
    client = Scripted({verb: answer})
    train = gang("train", cpu="1", min_resources={"cpu": "1"}, group_phase="Pending")
    cluster = simulation([node("a"), *train], configuration([verb]), client)
    cluster.run()
    asked = len(client.asked)
    due = cluster.look_again_at
    assert cluster.now < due <= cluster.now + AGAIN
    client.script = {verb: {"status": "", "overused": False} if verb != "enqueueable" else {"status": 1}}
    cluster.now = due
    assert cluster.run().binds == {"team/train-0": "a"}
    assert len(client.asked) > asked


@pytest.mark.parametrize("answer", [DOWN, {"status": -1}, {"status": 1, "victims": []}])
def test_victims_that_it_did_not_give_up_are_asked_about_again(answer: Any) -> None:
    client = Scripted({"preemptable": answer})
    low = gang("low", pods=2, cpu="2", min_member=1, running_on=["a", "a"], priority_class="low")
    high = gang("high", cpu="2", priority_class="high")
    objects = [node("a", cpu="4"), priority_class("low", 1), priority_class("high", 9), *low, *high]
    text = configuration(["preemptable"], actions="enqueue, allocate, preempt")
    cluster = simulation(objects, text, client)
    assert not cluster.run().evictions
    assert cluster.look_again_at > cluster.now
    client.script = {"preemptable": lambda body: {"status": 1, "victims": body["evictees"]}}
    cluster.now += LEFT_ALONE_FOR + 1
    assert cluster.run().evictions


def test_a_cycle_that_it_takes_no_part_in_asks_for_no_other() -> None:
    cluster = simulation([node("a"), *gang("train", cpu="1")], configuration(["open"]), Scripted({"open": DOWN}))
    assert cluster.run().binds == {"team/train-0": "a"}
    assert cluster.look_again_at == 0


def test_while_it_is_left_alone_nobody_else_suffers() -> None:
    client = Scripted({"predicate": DOWN})
    gpu = "example.com/gpu"
    managed: dict[str, Any] = {"extender.managedResources": [gpu]}
    text = configuration(["predicate"], **managed)
    jobs = [each for number in range(20) for each in gang(f"gpu-{number}", cpu=f"{100 + number}m", devices={gpu: "1"})]
    others = [each for number in range(20) for each in gang(f"cpu-{number}", cpu=f"{100 + number}m")]
    cluster = simulation([node("a", cpu="64", devices={gpu: "64"}), *jobs, *others], text, client)
    result = cluster.run()
    assert {name.split("-")[0] for name in result.binds} == {"team/cpu"}
    assert len(result.binds) == 20
    assert len(client.asked) <= FAILURES_IN_A_ROW + 16
    expected = "1 node(s) were not judged: the extender cannot be reached"
    assert all(expected in why for why in result.unschedulable.values())


def test_many_different_texts_make_no_message_long() -> None:
    client = Scripted({"predicate": lambda body: {"status": f"{body['node']['Name']} " + "x" * 5000}})
    nodes = [node(f"n{number:03}") for number in range(200)]
    result = simulation([*nodes, *gang("train", cpu="1")], configuration(["predicate"]), client).run()
    assert len(result.unschedulable["team/train-0"]) < 3000
    assert "node(s) were refused by the extender: … xxx" in result.unschedulable["team/train-0"]
