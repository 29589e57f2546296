"""Makes explain.svg: what `volcano-py explain` prints in the guide, as a terminal shows it: docs/guide/pending.md.

Run it after the page has changed: python docs/images/explain.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).with_name("explain.svg")
PAGE = Path(__file__).parents[1] / "guide" / "pending.md"
COMMAND = "$ volcano-py explain podgroup train --from cluster.yaml"
WIDTH, LINE, LEFT = 920, 19, 18  # pixels
MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
TEXT, FAINT, TITLE, WAITS, BINDS, HELPS = "#c9d1d9", "#8b949e", "#79c0ff", "#ff7b72", "#e3b341", "#56d364"


def transcript() -> list[str]:
    """The lines of the session in the guide, with its command."""
    text = PAGE.read_text(encoding="utf-8")
    block = text[text.index(COMMAND) :].partition("\n```")[0]
    return block.splitlines()


def colors(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each line with its color: titles, the reason, the limit that binds, and what helps stand out."""
    title = ""
    for number, line in enumerate(lines):
        if number == 0:
            yield line, FAINT
        elif number == 1:
            yield line, TITLE
        elif line and not line.startswith(" "):
            title = line
            yield line, TITLE
        elif not title:
            yield line, WAITS
        elif line.startswith("  ->"):
            yield line, BINDS
        else:
            yield line, HELPS if title in ("What would help", "Forecast") else TEXT


def picture() -> str:
    """The SVG."""
    lines = transcript()
    height = (len(lines) + 1) * LINE + LINE // 2
    rows = [
        f'<text x="{LEFT}" y="{(number + 1) * LINE + 4}" fill="{color}" xml:space="preserve">'
        f"{escape(re.sub(' ', chr(160), line))}</text>"
        for number, (line, color) in enumerate(colors(lines))
        if line
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
            ' aria-label="A terminal with the output of volcano-py explain">',
            f"<style>text {{ font-family: {MONO}; font-size: 13.5px; }}</style>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#161b22"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
