"""What the writer answers about overdue statuses is part of a record: it decides which phase counts."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import gang, queue
from tests.unit.daemon.cycling import REGISTRY
from volcano_py.api.effects import ObjectRef, PodGroupStatusUpdate
from volcano_py.api.objects import PodGroup
from volcano_py.record.entries import Entry, Looked, Upserted
from volcano_py.record.mirror import Mirror
from volcano_py.record.news import News, Seen
from volcano_py.record.recorded_state import RecordedState
from volcano_py.record.replay import Replaying
from volcano_py.state.snapshot import Phase, Snapshot

SENT, OVERDUE, LATER = 1000.0, 2000.0, 2010.0  # seconds


def history(waits: bool) -> list[News]:
    """A status was sent, and its echo has not come; when it is overdue, the writer is asked whether it still waits."""
    news: list[News] = []
    state = RecordedState(news.append)
    state.status_waits = lambda _uid: waits
    group = gang("g", cpu="1")[0]
    assert isinstance(group, PodGroup)
    state.upsert("Queue", queue("default"))
    state.upsert("PodGroup", group)
    ref = ObjectRef("PodGroup", "team", "g", group.metadata.uid)
    state.assume_status(PodGroupStatusUpdate(ref, "Running", (), 0, 0, 0), SENT)
    assert phase(state.copy(OVERDUE)) == (Phase.RUNNING if waits else Phase.INQUEUE)
    return news


def entry(news: News) -> Entry:
    if isinstance(news, Seen):
        return Upserted(news.kind, msgspec.Raw(msgspec.json.encode(news.object)))
    assert isinstance(news, Entry)
    return news


def phase(snapshot: Snapshot | None) -> int:
    assert snapshot is not None
    return int(snapshot.ledger.jobs.phase[0])


@pytest.mark.parametrize("waits", [True, False])
def test_a_replay_goes_by_what_the_writer_had_answered(waits: bool) -> None:
    replaying = Replaying(REGISTRY)
    for each in history(waits):
        replaying.take(entry(each), "")
    assert phase(replaying.snapshot) == (Phase.RUNNING if waits else Phase.INQUEUE)


def test_after_a_cut_the_status_counts_for_as_long_as_it_did() -> None:
    mirror, replaying = Mirror(), Replaying(REGISTRY)
    for each in history(waits=True):
        if isinstance(each, Seen):
            mirror.object(Upserted(each.kind, msgspec.Raw(msgspec.json.encode(each.object))), each.object)
        else:
            mirror.own(entry(each))
    for begun in (*mirror.entries(), Looked(LATER)):
        replaying.take(begun, "")
    assert phase(replaying.snapshot) == Phase.RUNNING
