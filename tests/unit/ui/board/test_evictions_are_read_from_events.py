"""Events of evictions as rows."""

from __future__ import annotations

import msgspec

from volcano_py.ui.board.evictions import EvictionEvent, eviction_row

EVENT = {
    "metadata": {"name": "serve-0.1", "namespace": "shop", "uid": "1"},
    "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "serve-0"},
    "related": {"kind": "Pod", "namespace": "shop", "name": "checkout-0"},
    "action": "preempt",
    "message": "preempt: pod shop/checkout-0 needs its place: why",
    "lastTimestamp": "2026-11-24T10:00:00Z",
}


def test_an_event_says_who_went_for_whom_when_and_why() -> None:
    row = eviction_row(msgspec.convert(EVENT, EvictionEvent))
    assert (row.pod, row.claimant, row.action) == ("shop/serve-0", "shop/checkout-0", "preempt")
    assert row.why == "pod shop/checkout-0 needs its place: why"
    assert row.at == 1_795_514_400.0


def test_an_event_without_a_claimant_or_a_time_is_shown_too() -> None:
    bare = {key: EVENT[key] for key in ("metadata", "involvedObject")} | {"message": "gone"}
    row = eviction_row(msgspec.convert(bare, EvictionEvent))
    assert (row.claimant, row.at, row.why) == ("", 0.0, "gone")
