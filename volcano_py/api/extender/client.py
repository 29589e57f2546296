"""How the plugin `extender` reaches a server: it is given a client, which the daemon has and a simulation has not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from volcano_py.api.objects import ApiObject


class Failure(msgspec.Struct, frozen=True):
    """There is no answer, for this reason: words that may follow "it". The address is not in them."""

    why: str


class Answers(msgspec.Struct, frozen=True):
    """What requests brought that were sent together.

    Attributes:
        bodies: one for each request, in their order: the body of an answer 200, or why there is none.
        seconds: how long all of them took.
    """

    bodies: tuple[bytes | Failure, ...]
    seconds: float


class ExtenderClient(Protocol):
    """Called from the thread of the cycle, which waits."""

    def ask(self, url: str, verb: str, bodies: Sequence[bytes], within: float) -> Answers:
        """Send each body, JSON, as POST to `<url>/<verb>`, several at a time; `within`: seconds for each answer. Never
        raises."""

    def find(self, kind: str, key: str) -> ApiObject | None:
        """The Pod of this namespace/name, or the Node of this name, as far as it is kept; None if it is not."""
