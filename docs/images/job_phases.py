"""Makes job-phases.svg: the phases of a Volcano Job, and what takes it from one to another.

.venv/bin/python docs/images/job_phases.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

PICTURE: Final = Path(__file__).with_name("job-phases.svg")
WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT = 820, 400, 118, 40
FONT: Final = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif"

BOXES: Final[Mapping[str, tuple[int, int]]] = {
    # phase: x and y of its left upper corner
    "Restarting": (256, 34),
    "Failed": (676, 34),
    "Pending": (76, 150),
    "Running": (256, 150),
    "Completing": (496, 214),
    "Completed": (676, 150),
    "Terminating": (496, 276),
    "Terminated": (676, 276),
    "Aborting": (496, 338),
    "Aborted": (676, 338),
}
FINISHED: Final = frozenset({"Failed", "Completed", "Terminated"})
ACTIVE: Final = ("Pending", "Running")
STOPPED: Final = ("Aborting", "Aborted")

ACTIONS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    # actions of policies and Commands: from which phases, and to which
    "CompleteJob": (ACTIVE, "Completing"),
    "TerminateJob": (ACTIVE, "Terminating"),
    "AbortJob": (ACTIVE, "Aborting"),
    "RestartJob, RestartTask, RestartPartition, RestartPod": (ACTIVE, "Restarting"),
    "ResumeJob": (STOPPED, "Restarting"),
}

_BLUE, _GREY = "#0969da", "#57606a"


def picture() -> str:
    return "\n".join([*_head(), *_frames(), *_arrows(), *_boxes(), "</svg>"]) + "\n"


def _head() -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" role="img"'
        ' aria-label="Phases of a Job: from Pending to Running and to an end, with the actions that lead there">'
    )
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#f6f8fa"/>'
    for name, colour in (("asked", _BLUE), ("itself", _GREY)):
        yield (
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            f' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        )


def _frames() -> Iterator[str]:
    """Around phases that the same actions lead away from."""
    for names in (ACTIVE, STOPPED):
        (left, top), (right, _) = BOXES[names[0]], BOXES[names[1]]
        yield (
            f'<rect x="{left - 10}" y="{top - 8}" width="{right - left + BOX_WIDTH + 20}" height="{BOX_HEIGHT + 16}"'
            f' rx="8" fill="none" stroke="{_BLUE}" stroke-dasharray="4 3"/>'
        )


def _arrows() -> Iterator[str]:
    # Asked for, from a frame.
    for action, start, down in (("CompleteJob", 360, 234), ("TerminateJob", 330, 296), ("AbortJob", 300, 350)):
        end = BOXES[ACTIONS[action][1]][0]
        yield _arrow(f"M{start},198 V{down} H{end}", asked=True)
        yield _text((start + end) // 2 + 10, down - 6, action, asked=True)
    yield _arrow("M300,142 V74", asked=True)
    yield _text(308, 102, "RestartJob, -Task, -Partition, -Pod", asked=True, anchor="start")
    yield _arrow("M486,374 H36 V44 H256", asked=True)
    yield _text(144, 38, "ResumeJob", asked=True)
    # By itself.
    yield _arrow("M194,160 H256")
    yield _arrow("M256,180 H194")
    yield _text(180, 136, "minAvailable run, or no longer")
    yield _arrow("M256,62 H60 V170 H76")
    yield _text(150, 80, "its pods are gone")
    yield _arrow("M374,54 H676")
    yield _text(525, 48, "maxRetry is reached")
    yield _arrow("M374,160 H560 V66 H676")
    yield _text(566, 112, "all have finished, too few succeeded", anchor="start")
    yield _arrow("M374,178 H676")
    yield _text(525, 196, "enough have succeeded")
    yield _arrow("M614,234 H735 V190")
    for name in ("Terminating", "Aborting"):
        x, y = BOXES[name]
        yield _arrow(f"M{x + BOX_WIDTH},{y + BOX_HEIGHT // 2} H676")
    yield _text(622, 252, "pods are gone", anchor="start")


def _boxes() -> Iterator[str]:
    for name, (x, y) in BOXES.items():
        fill = "#dafbe1" if name == "Completed" else "#ffebe9" if name in FINISHED else "#ffffff"
        yield (
            f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="{fill}" stroke="{_GREY}"/>'
        )
        yield (
            f'<text x="{x + BOX_WIDTH / 2:g}" y="{y + 25}" text-anchor="middle" font-size="15" font-weight="600"'
            f' fill="#1f2328">{name}</text>'
        )


def _arrow(path: str, *, asked: bool = False) -> str:
    name, colour = ("asked", _BLUE) if asked else ("itself", _GREY)
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5" marker-end="url(#{name})"/>'


def _text(x: int, y: int, words: str, *, asked: bool = False, anchor: str = "middle") -> str:
    colour = _BLUE if asked else _GREY
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="12.5" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE}\n")
