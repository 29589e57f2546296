"""Whatever is enumerated in a message is cut after a few, and the rest is counted."""

from __future__ import annotations

from volcano_py.api.wording.holders import Holders
from volcano_py.api.wording.summarize import few


def test_the_first_few_are_named_and_the_others_counted() -> None:
    assert few([]) == ""
    assert few(["a", "b", "c"]) == "a, b, c"
    assert few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert few(["a", "b"], total=7) == "a, b and 5 more"


def test_of_those_who_hold_something_the_largest_are_named() -> None:
    holders = Holders("cpu", [("a", 1000), ("b", 2000), ("c", 1000), ("d", 3000), ("e", 1000), ("none", 0)])
    assert holders.told() == "d: 3 cpu, b: 2 cpu, a: 1 cpu and 2 more"
    assert holders.told(["d", "a", "unknown"]) == "b: 2 cpu, c: 1 cpu, e: 1 cpu"
    assert holders.told(["d", "e"]) == "b: 2 cpu, a: 1 cpu, c: 1 cpu"
    assert Holders("cpu", []).told() == Holders("cpu", [("a", 1)]).told(["a"]) == ""
