"""Who went, for which pod, out of which queue, and what became of it."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.cycling import REGISTRY
from tests.unit.record.recording import record_contest, record_night, recorded
from volcano_py.api.effects import Evict, ObjectRef
from volcano_py.config import default_configuration_text
from volcano_py.record.entries import Outcome
from volcano_py.record.evictions import of_evictions
from volcano_py.record.history import of_pod_group
from volcano_py.record.news import CycleEmitted
from volcano_py.record.replay import replay
from volcano_py.record.segments import Limits, segments


async def test_both_sides_are_named_with_their_queues(tmp_path: Path) -> None:
    await record_contest(tmp_path)
    found = of_evictions(segments(tmp_path))
    assert len(found) == 2
    for each in found:
        assert (each.pod_group, each.queue, each.action) == ("team/sweep", "research", "reclaim")
        assert each.claimant.startswith("team/train-")
        assert (each.claimant_queue, each.outcome) == ("vision", "evicted")
        assert "allowed by" in each.why


async def test_the_contest_is_decided_again_without_a_difference(tmp_path: Path) -> None:
    await record_contest(tmp_path)
    assert [each.difference for each in replay(segments(tmp_path), REGISTRY) if each.difference] == []


async def test_an_eviction_that_was_refused_says_so(tmp_path: Path) -> None:
    victim, group = ObjectRef("Pod", "team", "a", "uid-a"), ObjectRef("PodGroup", "team", "g", "uid-g")
    async with recorded(tmp_path, default_configuration_text()) as (_, recorder):
        recorder.record(CycleEmitted((Evict(victim, group, "preempt", "for a pod"),)))
        recorder.record(Outcome(1.0, "evict failed", victim.key, victim.uid, "Forbidden"))
    [found] = of_evictions(segments(tmp_path))
    assert (found.pod, found.queue, found.claimant, found.outcome) == ("team/a", "", "", "failed: Forbidden")


async def test_a_record_without_evictions_has_none(tmp_path: Path) -> None:
    await record_night(tmp_path)
    assert of_evictions(segments(tmp_path)) == []


async def test_queues_are_known_in_every_segment(tmp_path: Path) -> None:
    """Each begins with all objects, so the first ones may be gone."""
    text = default_configuration_text()
    async with recorded(tmp_path, text, Limits(size=10**9, segments=10**9)):
        pass
    await record_contest(tmp_path)
    assert {each.queue for each in of_evictions(segments(tmp_path))} == {"research"}
    assert [each.what for each in of_pod_group(segments(tmp_path), "team/sweep")].count("evicted") == 2
