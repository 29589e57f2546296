"""Makes live-table.svg: what `volcano-py up` shows, of a cluster that is up.

    make run                                             # in one terminal
    KUBECONFIG=… .venv/bin/python docs/images/live_table.py    # in another, once the sample has settled

The picture leaves out the head of the screen, which names paths of the machine.
"""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from volcano_py.cli.live.mirror import WATCHED, Mirror
from volcano_py.cli.live.overview import Overview
from volcano_py.cli.live.screen import Head, screen
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.informers import Informers

PICTURE = Path(__file__).with_name("live-table.svg")
WIDTH, HEIGHT = 126, 60  # characters; as high as it takes
# Dark, with colors that most people can distinguish. rich's own template loads a font from elsewhere.
THEME = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [
        (72, 79, 88),
        (255, 123, 114),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (177, 186, 196),
    ],
)
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-label="Queues, PodGroups, nodes and events of a cluster">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
 font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>
<g transform="translate(10 4)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


async def seen() -> Overview:
    """The cluster of $KUBECONFIG as of now."""
    mirror = Mirror()
    async with await KubernetesClient.connect() as client:
        informers = Informers(client, mirror, WATCHED, resync_every=None)
        task = asyncio.create_task(informers.run())
        await informers.wait_synced()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return mirror.overview()


def main() -> None:
    out = Console(
        record=True,
        width=WIDTH,
        height=HEIGHT,
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        highlight=False,
    )
    out.print(screen(Head(), asyncio.run(seen()), (), out))
    out.save_svg(str(PICTURE), theme=THEME, code_format=FRAME, unique_id="live")
    sys.stdout.write(f"wrote {PICTURE}\n")


if __name__ == "__main__":
    main()
