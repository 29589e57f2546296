"""How verdicts and plans are shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from volcano_py.cli.printing.one_line import plain
from volcano_py.migrate.check import Verdict
from volcano_py.migrate.model import Finding, Level
from volcano_py.migrate.plan import Plan, Step

_TITLES: Final = {
    Level.BLOCKS: ("Blocks", "red"),
    Level.DIFFERS: ("Differs", "yellow"),
    Level.NOTE: ("Good to know", ""),
}
_INDENT: Final = 2


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Findings by level, then what could not be read, then the verdict in one line."""
    for level, (title, style) in _TITLES.items():
        if found := verdict.of_level(level):
            console.print(Text(title, style=f"bold {style}".strip()))
            for each in found:
                _print_finding(console, each)
    if verdict.unread:
        console.print(Text("Not read", style="bold"))
        for why in dict.fromkeys(each.why for each in verdict.unread):
            _print(console, f"{', '.join(each.what for each in verdict.unread if each.why == why)}: {why}")
    blocking = len(verdict.of_level(Level.BLOCKS))
    console.print(
        "Nothing blocks: volcano-py migrate plan prints the steps."
        if not blocking
        else f"{blocking} {'finding blocks' if blocking == 1 else 'findings block'} the move."
    )


def print_plan(console: Console, plan: Plan) -> None:
    """Both ways, numbered."""
    for title, steps in (("To volcano-py", plan.there), ("Back to Volcano", plan.back)):
        console.print(Text(title, style="bold"))
        _print_steps(console, steps)


def _print_steps(console: Console, steps: Iterable[Step]) -> None:
    for number, step in enumerate(steps, start=1):
        _print(console, f"{number}. {step.text}")
        for command in step.commands:
            # whole lines, to be copied
            console.print(Text(" " * 3 * _INDENT + plain(command), style="cyan"), soft_wrap=True)


def _print_finding(console: Console, finding: Finding) -> None:
    _print(console, f"{finding.about}: {finding.message}")
    if finding.fix:
        _print(console, f"→ {finding.fix}", _INDENT)
    if finding.page:
        _print(console, finding.page, _INDENT, style="dim")


def _print(console: Console, text: str, more: int = 0, style: str = "") -> None:
    console.print(Padding(Text(plain(text), style=style), (0, 0, 0, _INDENT + more), expand=False))
