"""Makes held-places.svg: an hour of examples/large-jobs, without the plugin reservation and with it.

.venv/bin/python docs/images/held_places.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from volcano_py.cluster.manifests import read_paths, stored
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.play import Play, PlayResult, Run
from volcano_py.scheduler import builtin_registry

PICTURE: Final = Path(__file__).with_name("held-places.svg")
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "large-jobs"
NODES: Final = ("n1", "n2", "n3", "n4")
CPUS: Final = 4  # of each node, and cpu of each pod: as in the example
CPU_OF: Final[Mapping[str, int]] = {"tiny": 1, "small": 2, "large": 4}
COLORS: Final[Mapping[str, str]] = {"tiny": "#d0d7de", "small": "#8c959f", "large": "#0969da"}
SECONDS: Final = 3600
CAME: Final = 600  # when the large one comes
WIDTH, LEFT, RIGHT, TOP, LANE, GAP, PANEL = 820, 60, 24, 36, 8, 8, 30
FONT: Final = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif"
NODE: Final = CPUS * LANE + GAP
HEIGHT_OF_PANEL: Final = len(NODES) * NODE + PANEL


def played(text: str) -> PlayResult:
    """The hour under this configuration."""
    registry = builtin_registry()
    parsed = parse_configuration(text, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    return Play(stored(read_paths([EXAMPLE])), parsed.config, registry).run(SECONDS)


def picture() -> str:
    before = played(default_configuration_text())
    after = played((EXAMPLE / "volcano-scheduler.conf").read_text(encoding="utf-8"))
    height = TOP + 2 * HEIGHT_OF_PANEL + 44
    rows = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="{FONT}" role="img"'
            ' aria-label="Four nodes over an hour: without the plugin reservation the large job never starts, with it'
            ' nodes are cleared and it starts eight minutes after it came">'
        ),
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#f6f8fa"/>',
    ]
    for number, (title, result) in enumerate((("without", before), ("with", after))):
        rows += _panel(TOP + number * HEIGHT_OF_PANEL, f"{title} reservation: {_summary(result)}", result)
    rows += _axis(TOP + 2 * HEIGHT_OF_PANEL)
    return "\n".join([*rows, "</svg>"]) + "\n"


def _summary(result: PlayResult) -> str:
    large = next(work for work in result.work if work.name == "default/large")
    fate = f"large starts after {large.longest_wait / 60:.0f} min" if large.started else "large never starts"
    return f"{fate}, {result.utilisation['cpu']:.0%} of cpu in use"


def _panel(top: float, title: str, result: PlayResult) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="{top - 10}" font-size="14" font-weight="600" fill="#1f2328">{title}</text>'
    for number, node in enumerate(NODES):
        y = top + number * NODE
        yield f'<text x="{LEFT - 10}" y="{y + 20}" text-anchor="end" font-size="13" fill="#57606a">{node}</text>'
        yield (
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - RIGHT}" height="{CPUS * LANE}" fill="#ffffff"'
            ' stroke="#d8dee4"/>'
        )
        runs = [run for run in result.runs if run.node == node]
        for run, lanes in _lanes(runs):
            begin, end = _x(run.started), _x(SECONDS if run.ended is None else min(run.ended, SECONDS))
            kind = _kind(run)
            for lane, height in lanes:
                yield (
                    f'<rect x="{begin:.1f}" y="{y + lane * LANE:g}" width="{max(end - begin - 0.6, 0.6):.1f}"'
                    f' height="{height * LANE - 0.6:g}" fill="{COLORS[kind]}"/>'
                )
    bottom = top + len(NODES) * NODE - GAP
    yield f'<path d="M{_x(CAME):.1f} {top - 4}V{bottom}" stroke="#cf222e" stroke-width="1.5" stroke-dasharray="4 3"/>'


def _lanes(runs: Sequence[Run]) -> Iterator[tuple[Run, list[tuple[int, int]]]]:
    """Each with the lanes that it takes, one for each CPU, as (lowest, how many on top of each other)."""
    free_at = [0.0] * CPUS
    for run in runs:
        taken = [lane for lane, at in enumerate(free_at) if at <= run.started + 1][: CPU_OF[_kind(run)]]
        bands: list[tuple[int, int]] = []
        for lane in taken:
            free_at[lane] = SECONDS if run.ended is None else run.ended
            if bands and sum(bands[-1]) == lane:
                bands[-1] = (bands[-1][0], bands[-1][1] + 1)
            else:
                bands.append((lane, 1))
        yield run, bands


def _axis(y: float) -> Iterator[str]:
    for minute in range(0, SECONDS // 60 + 1, 10):
        x = _x(minute * 60)
        yield f'<text x="{x:.1f}" y="{y - 8}" text-anchor="middle" font-size="12" fill="#57606a">{minute} min</text>'
    x = LEFT
    for kind, color in COLORS.items():
        yield f'<rect x="{x}" y="{y + 10}" width="12" height="12" fill="{color}"/>'
        yield f'<text x="{x + 18}" y="{y + 21}" font-size="13" fill="#1f2328">{kind} ({CPU_OF[kind]} cpu a pod)</text>'
        x += 150
    yield f'<path d="M{x} {y + 16}h14" stroke="#cf222e" stroke-width="1.5" stroke-dasharray="4 3"/>'
    yield f'<text x="{x + 20}" y="{y + 21}" font-size="13" fill="#1f2328">large comes</text>'


def _x(seconds: float) -> float:
    return LEFT + seconds / SECONDS * (WIDTH - LEFT - RIGHT)


def _kind(run: Run) -> str:
    return run.pod.partition("/")[2].partition("-")[0]


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE}\n")
