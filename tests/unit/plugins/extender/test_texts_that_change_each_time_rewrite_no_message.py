"""Conditions of waiting pods change with the facts, not with a counter or a time in what the extender says."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.support.extender import Scripted, configuration, simulation
from tests.support.sessions import NOW, gang, node
from volcano_py.plugins.extender.plugin import AGAIN
from volcano_py.plugins.extender.texts import STEADY_FOR, Texts, short
from volcano_py.simulation import Simulation

MOMENT = NOW.timestamp()


def waiting(verb: str, script: Any, nodes: int = 3) -> Simulation:
    """One pod that no node may take."""
    client = Scripted({verb: script, "deallocate": {}})
    objects = [*(node(f"n-{letter}") for letter in "abcdefghijklmnopqrstuvwxyz"[:nodes]), *gang("train", cpu="1")]
    return simulation(objects, configuration([verb, "deallocate"]), client)


def messages(cluster: Simulation, seconds: float) -> list[str]:
    """The different messages of the pod during this time, in which the extender is asked again and again."""
    found: list[str] = []
    end = cluster.now + seconds
    while cluster.now < end:
        message = cluster.run().unschedulable["team/train-0"]
        if message not in found:
            found.append(message)
        cluster.now += AGAIN
    return found


@pytest.mark.parametrize("verb", ["predicate", "allocate", "prioritize"])
def test_a_counter_rewrites_the_message_once_in_some_minutes(verb: str) -> None:
    count = itertools.count()
    key = "status" if verb == "predicate" else "errorMessage"
    cluster = waiting(verb, lambda _body: {key: f"busy for {next(count)} s (at 12:00:{next(count)})", "code": 2})
    first = messages(cluster, STEADY_FOR - AGAIN)
    assert len(first) == 1
    assert "busy for 0 s (at 12:00:1)" in first[0]
    second = messages(cluster, STEADY_FOR)
    assert len([each for each in second if each not in first]) == 1


def test_other_words_are_repeated_at_once() -> None:
    said = ["busy for 1 s"]
    cluster = waiting("predicate", lambda _body: {"status": said[0], "code": 2})
    cluster.run()
    for said[0] in ("broken since 12:00", "gone"):
        cluster.now += AGAIN
        assert said[0] in cluster.run().unschedulable["team/train-0"]


def test_another_set_of_nodes_is_said_at_once() -> None:
    refused, count = ["n-a", "n-b"], itertools.count()

    def judge(body: dict[str, Any]) -> dict[str, Any]:
        name = body["node"]["Name"]
        return {"status": f"{'busy' if name in refused else 'broken'} for {next(count)} s", "code": 2}

    cluster = waiting("predicate", judge)
    before = cluster.run().unschedulable["team/train-0"]
    refused.pop()
    cluster.now += AGAIN
    after = cluster.run().unschedulable["team/train-0"]
    assert before.count("broken") == 1
    assert after.count("broken") == 2


def test_of_many_texts_that_differ_in_digits_the_words_are_said() -> None:
    count = itertools.count()
    cluster = waiting("predicate", lambda _body: {"status": f"busy for {next(count)} s", "code": 2}, nodes=26)
    found = messages(cluster, 60.0)
    assert "26 node(s) were refused by the extender: busy for … s" in found[-1]
    assert len(found) <= 2


def test_texts_of_different_pods_and_nodes_are_kept_apart() -> None:
    memory = dict[str, Any]()
    texts = Texts(memory, MOMENT)
    assert [texts.of(("pod", name), f"GPU {name} is broken") for name in "12"] == ["GPU 1 is broken", "GPU 2 is broken"]
    later = Texts(memory, MOMENT + AGAIN)
    assert later.of(("pod", "1"), "GPU 2 is broken") == "GPU 1 is broken"
    assert later.of(("pod", "2"), "GPU 1 is broken") == "GPU 2 is broken"


def test_more_texts_than_are_remembered_are_said_without_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("volcano_py.plugins.extender.texts._MOST_KEPT", 2)
    texts = Texts({}, MOMENT)
    words = ["alpha 1", "beta 2", "gamma 3"]
    assert [texts.of(word, word) for word in words] == ["alpha 1", "beta 2", "gamma …"]


def test_what_is_remembered_does_not_grow_with_every_new_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("volcano_py.plugins.extender.texts._MOST_KEPT", 20)
    memory, letters = dict[str, Any](), "abcdefghijklmnopqrstuvwxyz"
    for number, letter in enumerate(letters):
        texts = Texts(memory, MOMENT + number * (STEADY_FOR + 1))
        for other in letters:
            texts.of(other, f"{letter}{other} 5")
    assert len(memory["texts"].many) < len(letters) ** 2 / 10


def test_of_very_many_different_texts_there_is_another_reason() -> None:
    texts = Texts({}, MOMENT)
    letters = "abcdefghijklmnopqrstuvwxyz"
    said = {texts.of(pair, "".join(pair)) for pair in itertools.product(letters, letters)}
    assert len(said) == 51
    assert "for another reason" in said


def test_a_foreign_text_becomes_one_short_printable_line() -> None:
    assert short("no\n  room\x1b[31m\there ") == "no room [31m here"
    assert len(short("x" * 10_000)) == 120


def test_a_foreign_text_shows_no_login() -> None:
    assert (
        short("cannot ask http://user:hunter2@inventory.example/nodes") == "cannot ask http://inventory.example/nodes"
    )
