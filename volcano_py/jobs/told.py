"""What people should know of an object, as an event on it."""

from __future__ import annotations

from typing import Final

import msgspec

FOREIGN_JOB: Final = "ForeignJob"
"""Reason: a Job that was to be made has a namesake of somebody else's."""


class Told(msgspec.Struct, frozen=True):
    """A piece of news; `about` is what must not be told again, "" if it is always news."""

    type: str
    reason: str
    message: str
    about: str = ""
