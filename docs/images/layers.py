"""Makes layers.svg: the layers of the import contract in pyproject.toml, with a few words on each.

.venv/bin/python docs/images/layers.py
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

PICTURE: Final = Path(__file__).with_name("layers.svg")
PYPROJECT: Final = Path(__file__).parents[2] / "pyproject.toml"
WORDS: Final[Mapping[str, str]] = {
    "cli": "one module a verb",
    "bench": "the same load for every scheduler",
    "ui": "the page, for a browser",
    "daemon": "the parts put together, for a cluster",
    "record": "what happened, decided again",
    "migrate": "Volcano to volcano-py",
    "what_if": "changes tried on a capture",
    "capture": "a cluster as one value",
    "explain": "why work waits",
    "play": "work that comes and ends",
    "standing": "queues in tree order",
    "simulation": "the parts put together, in memory",
    "operator": "kopf, controllers",
    "observe": "metrics, logs, health",
    "local": "a control plane to try on",
    "cluster": "API client, informers, writers, Lease",
    "scheduler": "the cycle, on one page",
    "actions": "steps of a cycle",
    "plugins": "policies",
    "framework": "extension points, session, placement, statement",
    "admission": "rules for new objects",
    "config": "volcano-scheduler.conf",
    "state": "tables, classes, snapshot",
    "jobs": "what a Job needs next",
    "api": "objects, quantities, reasons, effects",
    "shipped": "where CRDs, manifests and examples are",
    "yaml_events": "YAML, by libyaml",
}
FIRST_PURE: Final = "scheduler"
WIDTH, ROW, GAP, MARGIN, LABEL = 820, 46, 10, 24, 26
FONT: Final = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif"


def layers() -> list[list[str]]:
    """The names in each layer, from the top."""
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    contract = next(contract for contract in contracts if contract["type"] == "layers")
    return [
        [name.strip().removeprefix("volcano_py.") for name in layer.replace("|", ":").split(":")]
        for layer in contract["layers"]
    ]


def picture() -> str:
    rows = layers()
    pure = next(number for number, names in enumerate(rows) if FIRST_PURE in names)
    height = MARGIN + len(rows) * (ROW + GAP) + LABEL + GAP
    return "\n".join([*_head(height, MARGIN + pure * (ROW + GAP)), *_boxes(rows, pure), "</svg>"]) + "\n"


def _head(height: int, pure: int) -> Iterator[str]:
    inner = WIDTH - 2 * MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="{FONT}" role="img"'
        ' aria-label="Layers of the code, from cli at the top down to api">'
    )
    yield f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#f6f8fa"/>'
    yield (
        f'<rect x="{MARGIN - GAP}" y="{pure - 4}" width="{inner + 2 * GAP}" height="{height - pure - 4}" rx="8"'
        ' fill="#dafbe1" stroke="#4ac26b" stroke-dasharray="4 3"/>'
    )
    yield f'<text x="{MARGIN}" y="{pure + 14}" font-size="12.5" fill="#1a7f37">pure: no I/O, no asyncio</text>'


def _boxes(rows: list[list[str]], pure: int) -> Iterator[str]:
    inner = WIDTH - 2 * MARGIN
    for number, names in enumerate(rows):
        width = (inner - (len(names) - 1) * GAP) / len(names)
        y = MARGIN + number * (ROW + GAP) + (LABEL if number >= pure else 0)
        for place, name in enumerate(names):
            x = MARGIN + place * (width + GAP)
            middle = x + width / 2
            yield f'<rect x="{x:g}" y="{y}" width="{width:g}" height="{ROW}" rx="6" fill="#ffffff" stroke="#57606a"/>'
            yield (
                f'<text x="{middle:g}" y="{y + 20}" text-anchor="middle" font-size="15" font-weight="600"'
                f' fill="#1f2328">{name}</text>'
            )
            yield (
                f'<text x="{middle:g}" y="{y + 38}" text-anchor="middle" font-size="12.5"'
                f' fill="#57606a">{WORDS[name]}</text>'
            )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE}\n")
