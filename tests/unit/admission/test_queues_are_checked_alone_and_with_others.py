"""Every rule about queues: what is refused, in which words, and what is admitted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.queues.queue_worlds import queue, world
from volcano_py.admission.queue_world import QueueWorld
from volcano_py.admission.queues import QueueRules, defaults, validate_create, validate_delete, validate_update
from volcano_py.admission.violation import Violation, denial_message
from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import Queue

RULES = QueueRules()


def lines(found: Sequence[Violation]) -> list[str]:
    return [str(each) for each in found]


def created(new: Queue, beside: QueueWorld | None = None) -> list[str]:
    return lines(validate_create(new, beside or world(), RULES))


def updated(before: Queue, after: Queue, *others: Queue, **pod_groups: int) -> list[str]:
    return lines(validate_update(before, after, world(before, *others, **pod_groups), RULES))


# The object alone.


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(
            queue("q", weight=0),
            "spec.weight: 0 is not between 1 and 65535; choose a number in between",
            id="weight",
        ),
        pytest.param(
            queue("q", guarantee={"cpu": 4}),
            "spec.guarantee.resource[cpu]: 4 is guaranteed, but spec.deserved has no cpu; "
            "set a deserved amount at least as large",
            id="guarantee without deserved",
        ),
        pytest.param(
            queue("q", guarantee={"cpu": 4}, deserved={"cpu": 2}),
            "spec.guarantee.resource[cpu]: 4 is more than spec.deserved[cpu], 2; "
            "lower the guarantee, or raise what is deserved",
            id="guarantee above deserved",
        ),
        pytest.param(
            queue("q", deserved={"cpu": 10}, capability={"cpu": "8"}),
            "spec.deserved[cpu]: 10 is more than spec.capability[cpu], 8; "
            "lower what is deserved, or raise the capability",
            id="deserved above capability",
        ),
        pytest.param(
            queue("q", capability={"cpu": "many"}),
            "spec.capability[cpu]: many is not a quantity; write an amount such as 2, 500m or 1.5Gi",
            id="no quantity",
        ),
        pytest.param(
            queue("q", deserved={"memory": "-1Gi"}),
            "spec.deserved[memory]: -1Gi is negative; write an amount such as 2, 500m or 1.5Gi",
            id="negative",
        ),
        pytest.param(
            queue("q", deserved={"nvidia.com/gpu": "500m"}),
            "spec.deserved[nvidia.com/gpu]: 500m is not a whole number, and devices cannot be divided; "
            "write a whole number such as 2",
            id="half a device",
        ),
        pytest.param(
            queue("q", path="root/a", weights="1"),
            "metadata.annotations.volcano.sh/hierarchy and volcano.sh/hierarchy-weights: 'root/a' and '1' have "
            "different numbers of elements; give every element of the path its weight, as in root/eng/prod and 1/2/8",
            id="unequal annotations",
        ),
        pytest.param(
            queue("q", path="root//b", weights="1/1/1"),
            "metadata.annotations.volcano.sh/hierarchy: 'root//b' names no node below the root, or one without a "
            "name; give every element of the path its weight, as in root/eng/prod and 1/2/8",
            id="element without a name",
        ),
        *(
            pytest.param(
                queue("q", path="root/a", weights=f"1/{weight}"),
                f"metadata.annotations.volcano.sh/hierarchy-weights: '{weight}' is not a positive number of a usable "
                "size; write a number above 0, such as 2 or 0.5",
                id=f"weight {weight}",
            )
            for weight in ("0", "-2", "x", "nan", "inf")
        ),
    ],
)
def test_a_queue_that_is_wrong_by_itself_is_refused(new: Queue, expected: str) -> None:
    assert created(new) == [expected]


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(queue("q", deserved={"cpu": 10}, capability={"memory": "1Gi"}), id="no ceiling for cpu"),
        pytest.param(queue("q", guarantee={"cpu": "500m"}, deserved={"cpu": "0.5"}), id="equal in other words"),
        pytest.param(queue("q", guarantee={"cpu": 0}), id="a guarantee of nothing"),
        pytest.param(queue("q", "root", deserved={"cpu": 1_000_000}), id="nothing is compared with root"),
        pytest.param(queue("q", path="sci/dev", weights="2/0.5"), id="a path that leaves root out"),
        pytest.param(queue("q", state="Closed"), id="a closed one"),
    ],
)
def test_what_breaks_no_rule_is_admitted(new: Queue) -> None:
    assert created(new) == []


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    new = queue("q", "nowhere", weight=0, deserved={"cpu": 10}, capability={"cpu": 8})
    answer = denial_message("queue", "q", validate_create(new, world(), RULES))
    assert answer == (
        "queue q breaks 3 rules:\n"
        "- spec.weight: 0 is not between 1 and 65535; choose a number in between\n"
        "- spec.deserved[cpu]: 10 is more than spec.capability[cpu], 8; "
        "lower what is deserved, or raise the capability\n"
        "- spec.parent: nowhere does not exist; create it first, or name another queue"
    )


def test_one_violation_is_reported_in_one_line_and_a_thousand_in_a_few() -> None:
    violations = [Violation(field=f"f{n}", value="v", rule="is wrong", fix="fix it") for n in range(1000)]
    assert denial_message("queue", "q", violations[:1]) == "queue q: f0: v is wrong; fix it"
    answer = denial_message("queue", "q", violations).splitlines()
    assert len(answer) == 22
    assert answer[-1] == "- … and 980 more"


# The tree.

DEPT = queue("dept", capability={"cpu": 8}, deserved={"cpu": 10, "memory": "4Gi"}, guarantee={"cpu": 2})
ONE = queue("one", "dept", deserved={"cpu": 6}, guarantee={"cpu": 1})


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(
            queue("q", "nowhere"),
            "spec.parent: nowhere does not exist; create it first, or name another queue",
            id="missing parent",
        ),
        pytest.param(queue("q", "q"), "spec.parent: q is the queue itself; name another queue", id="itself"),
        pytest.param(queue("q", "going"), "spec.parent: going is being deleted; name another queue", id="parent goes"),
        pytest.param(
            queue("q", "dept", capability={"cpu": 9}),
            "spec.capability[cpu]: 9 is more than that of queue dept above it, 8; "
            "lower it, or raise that of queue dept",
            id="capability above the parent's",
        ),
        pytest.param(
            queue("q", "one", capability={"cpu": 9}),
            "spec.capability[cpu]: 9 is more than that of queue dept above it, 8; "
            "lower it, or raise that of queue dept",
            id="capability above the grandparent's, which the parent inherits",
        ),
        pytest.param(
            queue("q", "dept", deserved={"cpu": 5}),
            "spec.deserved[cpu]: 5 adds up to 11 with the other queues below queue dept, which has 10; "
            "lower it, or raise spec.deserved of queue dept",
            id="deserved together",
        ),
        pytest.param(
            queue("q", "dept", deserved={"cpu": 4}, guarantee={"cpu": "1500m"}),
            "spec.guarantee.resource[cpu]: 1500m adds up to 2500m with the other queues below queue dept, which has 2; "
            "lower it, or raise spec.guarantee.resource of queue dept",
            id="guarantee together",
        ),
        pytest.param(
            queue("q", "dept", deserved={"memory": "5Gi"}),
            "spec.deserved[memory]: 5Gi is more than queue dept above it has, 4Gi; "
            "lower it, or raise spec.deserved of queue dept",
            id="deserved alone",
        ),
        pytest.param(
            queue("q", "dept", deserved={"nvidia.com/gpu": 1}),
            "spec.deserved[nvidia.com/gpu]: 1 is more than queue dept above it has, 0; "
            "lower it, or raise spec.deserved of queue dept",
            id="what the parent does not have at all",
        ),
        pytest.param(
            queue("q", "busy"),
            "spec.parent: busy has 2 unfinished PodGroups, and only leaf queues run "
            "work; wait until it has finished, or name another queue",
            id="work above",
        ),
        pytest.param(
            queue("q", "l5"),
            "spec.parent: l5 puts the queue on level 6, the limit is 5; choose a parent further up",
            id="depth",
        ),
    ],
)
def test_a_queue_that_does_not_fit_into_the_tree_is_refused(new: Queue, expected: str) -> None:
    chain = [queue(f"l{level}", f"l{level - 1}" if level > 1 else "root") for level in range(1, 6)]
    beside = world(DEPT, ONE, queue("going", deleted=True), queue("busy"), *chain, busy=2)
    assert created(new, beside) == [expected]


def test_a_queue_that_fits_is_admitted() -> None:
    new = queue("two", "dept", deserved={"cpu": 4, "memory": "4Gi"}, guarantee={"cpu": 1}, capability={"cpu": 8})
    assert created(new, world(DEPT, ONE)) == []


def test_a_second_queue_may_join_the_first_below_a_queue_that_has_work() -> None:
    """The mistake was made with the first one; the scheduler reports the stray work."""
    assert created(queue("two", "dept"), world(DEPT, ONE, dept=3)) == []


def test_the_depth_can_be_chosen() -> None:
    (only,) = validate_create(queue("two", "dept"), world(DEPT), QueueRules(max_depth=1))
    assert only.rule == "puts the queue on level 2, the limit is 1"


def test_a_chain_of_thousands_is_judged_and_refused() -> None:
    chain = [queue(f"q{n}", f"q{n - 1}" if n else "root") for n in range(3000)]
    (only,) = validate_create(queue("last", "q2999"), world(*chain), RULES)
    assert only.rule == "puts the queue on level 3001, the limit is 5"


def test_a_path_that_leads_through_another_queue_is_refused_in_both_directions() -> None:
    beside = world(queue("sci", path="root/sci", weights="1/1"), queue("prod", path="root/eng/prod", weights="1/1/1"))
    assert created(queue("q", path="root/sci/dev", weights="1/1/1"), beside) == [
        (
            "metadata.annotations.volcano.sh/hierarchy: root/sci/dev leads through root/sci, which is the path of "
            "queue sci; only leaf queues can have jobs: give one of them another path"
        )
    ]
    assert created(queue("q", path="eng", weights="1"), beside) == [
        (
            "metadata.annotations.volcano.sh/hierarchy: root/eng is on the path of queue prod; "
            "only leaf queues can have jobs: give one of them another path"
        )
    ]
    assert created(queue("q", path="root/sci", weights="1/5"), beside) == [], "queues may share a node"


# Updates.


def test_an_update_that_leads_in_a_cycle_is_refused() -> None:
    found = updated(DEPT, queue("dept", "one"), ONE)
    assert found[0] == ("spec.parent: one forms a cycle (dept → one → dept); name another queue")


def test_a_move_takes_the_queues_below_along() -> None:
    """Their levels, and their ceilings where the moved queue has none of its own."""
    tall = [queue("t1"), queue("t2", "t1"), queue("t3", "t2")]
    below = [queue("b", "a"), queue("c", "b", capability={"cpu": 20})]
    assert updated(queue("a"), queue("a", "t3"), *below, *tall) == [
        "spec.parent: t3 puts queue c below it on level 6, the limit is 5; choose a parent further up"
    ]
    assert updated(queue("a"), queue("a", "dept"), *below, DEPT) == [
        (
            "spec.parent: dept has no room for queue c below: its capability[cpu], 20, is more than that of queue dept "
            "above it, 8; lower it, or raise that of queue dept"
        )
    ]


def test_a_queue_keeps_what_the_queues_below_it_have() -> None:
    less = queue("dept", capability={"cpu": 3}, deserved={"cpu": 3, "memory": "4Gi"}, guarantee={})
    small = queue("small", "dept", capability={"cpu": 4})
    assert updated(DEPT, less, ONE, small) == [
        (
            "spec.capability[cpu]: 3 is less than that of queue small below it, 4; "
            "raise it, or lower that of queue small first"
        ),
        "spec.deserved[cpu]: 3 is less than the queues below it have together, 6; raise it, or lower theirs first",
        (
            "spec.guarantee.resource[cpu]: 0 is less than the queues below it have together, 1; "
            "raise it, or lower theirs first"
        ),
    ]


BROKEN = queue("q", "gone", weight=0, deserved={"cpu": 10}, capability={"cpu": 8}, path="root/a", weights="1/x")


def test_what_was_wrong_before_does_not_lock_the_queue() -> None:
    assert updated(BROKEN, BROKEN) == []
    closer = queue("q", "gone", weight=0, deserved={"cpu": 9}, capability={"cpu": 8}, path="root/a", weights="1/x")
    assert updated(BROKEN, closer) == [], "less wrong is a step in the right direction"


def test_what_was_wrong_before_must_not_get_worse() -> None:
    worse = queue("q", "gone too", weight=-1, deserved={"cpu": 11}, capability={"cpu": 8}, path="root/a", weights="1/y")
    found = validate_update(BROKEN, worse, world(BROKEN), RULES)
    assert [each.field for each in found] == [
        "spec.weight", "spec.deserved[cpu]", "metadata.annotations.volcano.sh/hierarchy-weights", "spec.parent",
    ]  # fmt: skip


def test_sums_that_are_exceeded_already_may_shrink_but_not_grow() -> None:
    over = queue("two", "dept", deserved={"cpu": 8})
    assert updated(over, queue("two", "dept", deserved={"cpu": 7}), DEPT, ONE) == []
    assert len(updated(over, queue("two", "dept", deserved={"cpu": 9}), DEPT, ONE)) == 1


def test_moving_from_one_overfull_queue_to_another_is_no_excuse() -> None:
    other = queue("other", deserved={"cpu": 1})
    over = queue("two", "dept", deserved={"cpu": 8})
    assert len(updated(over, queue("two", "other", deserved={"cpu": 8}), DEPT, ONE, other)) == 1


def test_moving_from_one_busy_queue_to_another_is_no_excuse() -> None:
    stray = queue("stray", "dept")
    found = updated(stray, queue("stray", "other"), DEPT, queue("other"), dept=1, other=1)
    assert found == [
        (
            "spec.parent: other has 1 unfinished PodGroup, and only leaf queues run "
            "work; wait until it has finished, or name another queue"
        )
    ]


def test_the_amounts_of_root_cannot_change() -> None:
    assert updated(queue("root", weight=2), queue("root", weight=3)) == []
    assert updated(queue("root", deserved={"cpu": 1}), queue("root", capability={"cpu": 4})) == [
        (
            "spec.capability[cpu]: 4 differs from (not set), and root's amounts cannot change; "
            "limit the queues below root instead"
        ),
        (
            "spec.deserved[cpu]: (not set) differs from 1, and root's amounts cannot change; "
            "limit the queues below root instead"
        ),
    ]
    assert updated(queue("root", capability={"cpu": 4}), queue("root", capability={"cpu": "4000m"})) == []


# Deletions.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("root", ["metadata.name: root is the root queue and cannot be deleted; delete the queues below it"]),
        (
            "default",
            [("metadata.name: default is the default queue and cannot be deleted; close it to keep new work out")],
        ),
        (
            "dept",
            [
                "metadata.name: dept has queues below it (one); delete or move those first",
                ("metadata.name: dept has 1 unfinished PodGroup; close the queue, and delete it when no work is left"),
            ],
        ),
        (
            "busy",
            [("metadata.name: busy has 2 unfinished PodGroups; close the queue, and delete it when no work is left")],
        ),
        ("one", []),
        ("unknown", []),
    ],
)
def test_queues_that_others_depend_on_are_not_deleted(name: str, expected: list[str]) -> None:
    beside = world(DEPT, ONE, queue("busy"), dept=1, busy=2)
    assert lines(validate_delete(name, beside, RULES)) == expected


def test_the_default_queue_is_the_one_that_was_chosen() -> None:
    rules = QueueRules(default_queue="batch")
    assert validate_delete("default", world(), rules) == ()
    assert len(validate_delete("batch", world(queue("batch")), rules)) == 1


# Defaults.


def test_what_is_left_out_is_filled_in() -> None:
    assert defaults(queue("q", weight=0)) == {"spec": {"weight": 1, "reclaimable": True}}
    assert defaults(queue("q", weight=3, reclaimable=False)) == {}


def test_a_path_gets_the_root_in_front() -> None:
    given = queue("q", path="sci/dev", weights="2/3", reclaimable=True)
    assert defaults(given)["metadata"]["annotations"] == {HIERARCHY: "root/sci/dev", HIERARCHY_WEIGHTS: "1/2/3"}
    assert defaults(queue("q", path="root/sci", weights="1/2", reclaimable=True)) == {}
    assert "metadata" in defaults(queue("q", path="rootless", weights="1"))
    assert "metadata" not in defaults(queue("q", path="sci"))
