"""How the plugin `extender` reaches a server: it is given a client, which the daemon has and a simulation has not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from volcano_py.api.objects import ApiObject

T = TypeVar("T")

PLUGIN: Final = "extender"
"""The name of the plugin."""


class Failure(msgspec.Struct, frozen=True):
    """There is no answer, for this reason: words that may follow "it". The address is not in them."""

    why: str


class Question(msgspec.Struct, frozen=True):
    """One question.

    Attributes:
        about: what is asked about. In a record, the answer is found again by the verb and this.
        make: makes the body, JSON. Bodies can be large, so they are made only if they are sent.
        among: names of nodes or UIDs of pods, if the answer chooses among some; what it says of others has no effect.
    """

    about: str
    make: Callable[[], bytes]
    among: tuple[str, ...] = ()


class Answers(msgspec.Struct, Generic[T], frozen=True):
    """What questions brought that were sent together.

    Attributes:
        found: one for each question, in their order: the answer, or why there is none.
        seconds: how long all of them took, with making their bodies.
    """

    found: tuple[T | Failure, ...]
    seconds: float


class ExtenderClient(Protocol):
    """Called from the thread of the cycle, which waits."""

    def ask(self, url: str, verb: str, questions: Sequence[Question], kind: type[T], within: float) -> Answers[T]:
        """Send each question as POST to `<url>/<verb>`, several at a time; `within`: seconds for each answer, which is
        of this `kind` (`api.extender.answers`). Never raises."""

    def find(self, kind: str, key: str) -> ApiObject | None:
        """The Pod of this namespace/name, or the Node of this name, as far as it is kept; None if it is not."""
