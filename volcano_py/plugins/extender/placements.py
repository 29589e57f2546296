"""Tells the extender which pods get places and lose them, so that it can keep its own books.

What was sent is balanced: a pod whose place the extender has heard of, and that loses it again in the same cycle, is
reported, too, even if the time of the cycle is used up. (Not while the extender is left alone after failures.)
"""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.extender.answers import EventAnswer
from volcano_py.api.extender.client import Failure, Question
from volcano_py.plugins.extender.arguments import ExtenderArguments
from volcano_py.plugins.extender.line import Line, encode
from volcano_py.plugins.extender.payloads import Payloads


class Placements:
    """For one session."""

    def __init__(self, line: Line, arguments: ExtenderArguments, payloads: Payloads) -> None:
        self._line, self._arguments, self._payloads = line, arguments, payloads
        self.given: dict[int, None] = {}
        """Tasks whose new places were sent, in this order."""
        self._taken: dict[int, None] = {}
        """Tasks whose lost places were sent."""

    def gained(self, rows: Sequence[int]) -> dict[int, str]:
        """The tasks have places. Those that the extender does not want there, and why."""
        if not (verb := self._arguments.allocate):
            return {}
        problems: dict[int, str] = {}
        for row, answer in self._send(verb, rows, self._taken, self.given):
            if isinstance(answer, Failure):
                if not self._arguments.ignorable:
                    problems[row] = f"it {answer.why}"
            elif answer.errormessage:
                problems[row] = answer.errormessage
        return problems

    def lost(self, rows: Sequence[int]) -> None:
        """The tasks have lost their places. What the extender says to that changes nothing."""
        if verb := self._arguments.deallocate:
            for _ in self._send(verb, rows[::-1], self.given, self._taken):
                pass

    def _send(
        self, verb: str, rows: Sequence[int], owed: dict[int, None], sent: dict[int, None]
    ) -> list[tuple[int, EventAnswer | Failure]]:
        """`owed`: tasks of which the opposite was sent; the others are added to `sent`."""
        found: list[tuple[int, EventAnswer | Failure]] = []
        undoes = [row for row in rows if row in owed]
        for is_owed, some in (True, undoes), (False, [row for row in rows if row not in owed]):
            questions = [self._about(row) for row in some]
            found += zip(some, self._line.ask(verb, questions, EventAnswer, is_owed=is_owed), strict=True)
            for row in some:
                if is_owed:
                    del owed[row]
                else:
                    sent[row] = None
        return found

    def _about(self, row: int) -> Question:
        return Question(self._payloads.key(row), lambda: encode({"task": self._payloads.task(row)}))
