"""Whatever is enumerated in a message is cut after a few, and the rest is counted."""

from __future__ import annotations

from volcano_py.api.wording.holders import Holders
from volcano_py.api.wording.summarize import summarize


def test_the_first_few_are_named_and_the_others_counted() -> None:
    assert summarize([]) == ""
    assert summarize(["a", "b", "c"]) == "a, b, c"
    assert summarize(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert summarize(["a", "b"], total=7) == "a, b and 5 more"


def test_of_the_holders_the_largest_are_named() -> None:
    holders = Holders("cpu", [("a", 1000), ("b", 2000), ("c", 1000), ("d", 3000), ("e", 1000), ("none", 0)])
    assert holders.summary() == "d: 3 cpu, b: 2 cpu, a: 1 cpu, and 2 more queues"
    assert holders.summary(["d", "a", "unknown"]) == "b: 2 cpu, c: 1 cpu, e: 1 cpu"
    assert holders.summary(["d", "e"]) == "b: 2 cpu, a: 1 cpu, c: 1 cpu"
    assert Holders("cpu", []).summary() == Holders("cpu", [("a", 1)]).summary(["a"]) == ""
