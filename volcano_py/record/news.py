"""What the daemon's thread hands over to be recorded: values that another thread makes entries of."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from volcano_py.api.effects import Effect
from volcano_py.api.objects import ApiObject
from volcano_py.api.report import CycleReport
from volcano_py.record.entries import Entry


class Seen(msgspec.Struct, frozen=True, gc=False):
    """An object came, or went."""

    kind: str
    object: ApiObject
    deleted: bool = False


class CycleBegan(msgspec.Struct, frozen=True, gc=False):
    """A cycle began with a configuration of this digest and text."""

    number: int
    seed: int
    digest: str
    text: str
    decide: bool


class Heard(msgspec.Struct, frozen=True, gc=False):
    """An extender was asked some questions with a verb, and has answered; see `Question`, of which `about` and `among`
    are, one for each, and `Answered`."""

    verb: str
    about: tuple[str, ...]
    among: tuple[tuple[str, ...], ...]
    answers: tuple[object, ...]
    seconds: float


class CycleEnded(msgspec.Struct, frozen=True, gc=False):
    """A cycle ended."""

    report: CycleReport


class CycleEmitted(msgspec.Struct, frozen=True, gc=False):
    """A cycle has decided these."""

    effects: Sequence[Effect]


class Turned(msgspec.Struct, frozen=True, gc=False):
    """The scheduler has forgotten what it remembered: the next segment may begin."""


News = Seen | CycleBegan | Heard | CycleEnded | CycleEmitted | Turned | Entry
