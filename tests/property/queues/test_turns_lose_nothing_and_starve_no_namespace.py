"""Turns: whatever comes and goes, nothing is lost or served twice, and no namespace waits for more than a round."""

from __future__ import annotations

from collections import Counter, deque

from hypothesis import given
from hypothesis import strategies as st

from volcano_py.cluster.kubernetes.writing.turns import FairQueue, Turns

NAMESPACES = "abcde"
# What happens: an item comes, the next is taken, one that was taken is done, the oldest of the longest line goes.
STEPS = st.lists(
    st.one_of(st.sampled_from(NAMESPACES), st.sampled_from(["take", "take", "done", "give up"])), max_size=120
)


@given(steps=STEPS, limit=st.integers(1, 9), data=st.data())
def test_nothing_is_lost_or_served_twice_and_slots_are_kept(steps: list[str], limit: int, data: st.DataObject) -> None:
    turns = Turns[tuple[str, int]](limit)
    waiting: dict[str, deque[tuple[str, int]]] = {namespace: deque() for namespace in NAMESPACES}
    under_way = list[str]()
    for number, step in enumerate(steps):
        length = sum(map(len, waiting.values()))
        if step == "take":
            found = turns.take()
            if found is None:
                # Nothing waits, or all that does is of namespaces that hold slots, or there is no slot.
                lines = [namespace for namespace, line in waiting.items() if line]
                assert set(lines) <= set(under_way) or len(under_way) == turns.slots
            else:
                namespace, item = found
                assert item == waiting[namespace].popleft()
                under_way.append(namespace)
        elif step == "done":
            if under_way:
                turns.done(under_way.pop(data.draw(st.integers(0, len(under_way) - 1))))
        elif step == "give up":
            if length:
                gone = turns.give_up_oldest()
                assert len(waiting[gone[0]]) == max(map(len, waiting.values()))
                assert gone == waiting[gone[0]].popleft()
        else:
            waiting[step].append((step, number))
            turns.add(step, (step, number))
        assert len(turns) == sum(map(len, waiting.values()))
        assert len(under_way) <= turns.slots
        assert max(Counter(under_way).values(), default=0) <= limit
    assert sorted(turns.drain()) == sorted(item for line in waiting.values() for item in line)


@given(lines=st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_each_namespace_that_waits_is_served_within_a_round(lines: list[int]) -> None:
    queue = FairQueue[int]()
    for namespace, length in enumerate(lines):
        for number in range(length):
            queue.add(str(namespace), number)
    left, since = dict(enumerate(lines)), dict.fromkeys(range(len(lines)), 0)
    while (found := queue.take()) is not None:
        served = int(found[0])
        left[served] -= 1
        since[served] = 0
        for other in since:
            if other != served and left[other]:
                since[other] += 1
                assert since[other] <= len(lines) - 1
    assert not any(left.values())


@given(st.lists(st.sampled_from(["busy", "busy", "busy", "late"]), max_size=60))
def test_a_newcomer_waits_for_one_turn_of_each_other(steps: list[str]) -> None:
    queue = FairQueue[str]()
    for _ in range(200):
        queue.add("busy", "busy")
    for step in steps:
        if step == "busy":
            queue.take()
            continue
        queue.add("late", "late")
        assert "late" in [found[0] for found in (queue.take(), queue.take()) if found]
