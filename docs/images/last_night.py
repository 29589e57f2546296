"""Makes last-night.svg, the picture of a queue on the page of records; needs matplotlib.

PYTHONPATH=. .venv/bin/python docs/images/last_night.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from click.testing import CliRunner

from tests.unit.record.recording import record_contest
from volcano_py.cli.main import main

PICTURE = Path(__file__).with_name("last-night.svg")


def draw(file: Path) -> None:
    """What the command of the page draws, of the same record."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(record_contest(Path(folder)))
        arguments = ["history", "queue", "research", "--record", folder, "--plot", str(file)]
        CliRunner().invoke(main, arguments, catch_exceptions=False)


if __name__ == "__main__":
    draw(PICTURE)
