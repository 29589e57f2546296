"""What cycles of a record lack of an extender's answers when they are decided again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from volcano_py.api.wording.summarize import counted

if TYPE_CHECKING:
    from volcano_py.record.replay import Cycle


class Unanswered:
    """Of all cycles.

    Attributes:
        questions: how many have no answer in the record.
    """

    def __init__(self) -> None:
        self.questions = 0
        self._cycles = 0
        self._is_old = False

    def take(self, cycle: Cycle) -> None:
        """The next cycle."""
        self.questions += cycle.unanswered
        self._cycles += bool(cycle.unanswered)
        self._is_old |= bool(cycle.report.remarks.get("extender"))

    def print(self) -> None:
        """A sentence, if anything is missing."""
        if self._is_old:
            click.echo(
                "The record is from a version that did not record answers of an extender: cycles in which it refused "
                "something, or gave scores, differ."
            )
        if self.questions:
            click.echo(
                f"The record has no answer to {counted(self.questions, 'question')} to the extender, in "
                f"{counted(self._cycles, 'cycle')}: there, it has no objection."
            )
