"""Whatever queues people make, change and delete: what is admitted never yields a tree that breaks a rule."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.queues.queue_worlds import queue, world
from volcano_py.admission.queue_world import QueueFacts, QueueWorld
from volcano_py.admission.queues import QueueRules, validate_create, validate_delete, validate_update
from volcano_py.admission.violation import new_violations
from volcano_py.api.objects import Queue
from volcano_py.state.queues.queue_tree import lay

RULES = QueueRules(max_depth=3)
NAMES = ("a", "b", "c", "d", "e", "f")
RESOURCES = ("cpu", "memory")
# Few and small, so that rules are met often.
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 6), max_size=2)
PATHS = st.sampled_from([("", ""), ("root/x", "1/1"), ("root/x/y", "1/1/2"), ("x/z", "2/1"), ("root/y", "1/0")])


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, Queue | None]:
    """A queue as a user wants it, or its deletion."""
    name = draw(st.sampled_from(NAMES))
    if draw(st.integers(0, 5)) == 0:
        return name, None
    path, weights = draw(PATHS)
    fields: dict[str, Any] = {}
    if draw(st.booleans()):
        deserved = draw(AMOUNTS)
        fields["deserved"] = deserved
        fields["guarantee"] = {key: draw(st.integers(0, amount + 1)) for key, amount in deserved.items()}
    if draw(st.booleans()):
        fields["capability"] = draw(AMOUNTS)
    parent = draw(st.sampled_from(("", "root", *NAMES)))
    return name, queue(name, parent, path=path, weights=weights, **fields)


WORK = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 2), max_size=2)


def admit(stored: dict[str, Queue], edit: tuple[str, Queue | None], work: dict[str, int]) -> bool:
    """Carry the edit out if the rules let it in."""
    name, after = edit
    beside = world(*stored.values(), **work)
    before = stored.get(name)
    if after is None:
        admitted = before is not None and not validate_delete(name, beside, RULES)
        if admitted:
            del stored[name]
        return admitted
    found = validate_create(after, beside, RULES) if before is None else validate_update(before, after, beside, RULES)
    if not found:
        stored[name] = after
    return not found


@settings(max_examples=2 * settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(edits(), WORK), max_size=25))
def test_a_sound_tree_stays_sound(sequence: list[tuple[tuple[str, Queue | None], dict[str, int]]]) -> None:
    stored: dict[str, Queue] = {}
    for edit, work in sequence:
        if admit(stored, edit, work):
            assert_sound(stored)


def assert_sound(stored: dict[str, Queue]) -> None:
    """The rules, said once more and plainly."""
    facts = {name: QueueFacts.of(each) for name, each in stored.items()}
    tree = lay({name: each.parent for name, each in facts.items()})
    assert not tree.faults
    for name, each in facts.items():
        assert sum(1 for _ in tree.above(name)) <= RULES.max_depth
        for resource, amount in each.guarantee.items():
            assert amount <= each.deserved.get(resource, 0)
        for resource, amount in each.deserved.items():
            assert amount <= each.capability.get(resource, amount)
        for above in (facts[up] for up in tree.above(name) if up != "root"):
            for resource, amount in each.capability.items():
                assert amount <= above.capability.get(resource, amount), f"{name} below {above.name}"
        children = [facts[child] for child in tree.children.get(name, ())]
        for field in ("deserved", "guarantee"):
            for resource in RESOURCES:
                together = sum(child.entitlement(field).get(resource, 0) for child in children)
                assert together <= each.entitlement(field).get(resource, 0), f"{field} below {name}"
        for other in facts.values():
            if each.path and other.path and other.path != each.path:
                assert other.path[: len(each.path)] != each.path, f"{other.name} leads through {name}"


@settings(max_examples=settings().max_examples, deadline=None)
@given(st.lists(edits(), min_size=1, max_size=8), edits())
def test_an_edit_of_nothing_is_always_admitted_and_no_admitted_edit_makes_things_worse(
    made: list[tuple[str, Queue | None]], edit: tuple[str, Queue | None]
) -> None:
    """The trees are as unsound as can be: no admission has checked them."""
    stored = {name: each for name, each in made if each is not None}
    beside: QueueWorld = world(*stored.values())
    for each in stored.values():
        assert validate_update(each, each, beside, RULES) == ()
    name, after = edit
    before = stored.get(name)
    if after is None or before is None or validate_update(before, after, beside, RULES):
        return
    old, new = validate_create(before, beside, RULES), validate_create(after, beside, RULES)
    assert not new_violations(new, old)


def test_the_rules_are_met() -> None:
    """Sums, ceilings, circles and depth all are within the reach of these edits."""
    stored: dict[str, Queue] = {}
    assert admit(stored, ("a", queue("a", deserved={"cpu": 3}, capability={"cpu": 4})), {})
    assert admit(stored, ("b", queue("b", "a", deserved={"cpu": 2})), {})
    assert not admit(stored, ("c", queue("c", "a", deserved={"cpu": 2})), {})
    assert not admit(stored, ("c", queue("c", "b", capability={"cpu": 5})), {})
    assert not admit(stored, ("a", queue("a", "b", deserved={"cpu": 3}, capability={"cpu": 4})), {})
    assert admit(stored, ("c", queue("c", "b")), {})
    assert not admit(stored, ("d", queue("d", "c")), {})
    assert not admit(stored, ("b", None), {})
    assert admit(stored, ("c", None), {})
    assert_sound(stored)
