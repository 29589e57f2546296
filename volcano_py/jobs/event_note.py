"""An event on an object, before it is recorded."""

from __future__ import annotations

from typing import Final

import msgspec

FOREIGN_JOB: Final = "ForeignJob"
"""Reason: the Job to be created has a namesake with another owner."""


class EventNote(msgspec.Struct, frozen=True):
    """An event to be recorded; `type` is Normal or Warning.

    `dedup_key`: an event with the same reason and key is recorded once; "" records it every time.
    """

    type: str
    reason: str
    message: str
    dedup_key: str = ""
