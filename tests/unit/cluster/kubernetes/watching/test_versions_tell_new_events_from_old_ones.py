"""Property: however a history of one resource is shuffled and doubled, its end is what is left."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from volcano_py.cluster.kubernetes.watching.versions import Versions, version_of

Event = tuple[str, str, str, int]  # change, key, uid, version


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Additions, changes and deletions of a few objects and their namesakes, with growing versions."""
    alive: dict[str, str] = {}
    events: list[Event] = []
    for version in range(1, draw(st.integers(1, 20)) + 1):
        key = draw(st.sampled_from(["ns/a", "ns/b"]))
        if key not in alive:
            alive[key] = f"uid-{version}"
            events.append(("ADDED", key, alive[key], version))
        elif draw(st.booleans()):
            events.append(("MODIFIED", key, alive[key], version))
        else:
            events.append(("DELETED", key, alive.pop(key), version))
    return events


def deliver(events: list[Event]) -> dict[str, tuple[str, int]]:
    versions, reported = Versions(), dict[str, tuple[str, int]]()
    versions.listed("0")
    for change, key, uid, version in events:
        if change == "DELETED":
            if (gone := versions.forget(key, uid, str(version))) is not None:
                assert reported.pop(key)[0] == gone
        elif versions.is_new(key, str(version)):
            versions.note(key, uid, str(version))
            reported[key] = (uid, version)
    assert {key: versions.uid_of(key) for key in reported} == {key: uid for key, (uid, _) in reported.items()}
    assert len(versions) == len(reported)
    return reported


@settings(deadline=None)
@given(history=histories(), data=st.data())
def test_any_order_ends_in_the_same_truth(history: list[Event], data: st.DataObject) -> None:
    doubled = history + data.draw(st.lists(st.sampled_from(history), max_size=10))
    shuffled = data.draw(st.permutations(doubled))

    assert deliver(shuffled) == deliver(history)


def test_a_deletion_that_is_older_than_the_list_lets_nothing_in_that_is_older_too() -> None:
    """Of the list's time the object is gone: neither the end of its namesake nor its own beginning is news."""
    versions = Versions()
    versions.listed("37")

    assert versions.forget("ns/a", "namesake", "32") is None
    assert not versions.is_new("ns/a", "33")
    assert versions.is_new("ns/a", "38")


def test_versions_that_are_no_numbers_are_taken_as_news() -> None:
    versions = Versions()
    versions.note("ns/a", "u", "opaque-2")
    versions.listed("opaque-9")

    assert version_of("opaque-2") == -1
    assert versions.is_new("ns/a", "opaque-1")
    assert versions.forget("ns/a", "another", "opaque-3") is None
    assert versions.forget("ns/a", "u", "opaque-3") == "u"


def test_only_so_many_deletions_are_remembered() -> None:
    versions = Versions()
    versions.listed("0")
    for number in range(5000):
        versions.note(f"ns/{number}", "u", str(number + 1))
        versions.forget(f"ns/{number}", "u", str(number + 10_000))

    assert len(versions._deleted) == 4096
    assert not versions.is_new("ns/4999", "12000")
