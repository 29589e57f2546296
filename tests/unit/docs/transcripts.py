"""Blocks of language `console` are sessions: lines that begin with `$` are commands, the others what they print."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from click.testing import CliRunner

from tests.unit.docs.pages import PAGES, PROJECT, Block, blocks
from tests.unit.record.recording import record_contest, record_night
from volcano_py.cli.main import main
from volcano_py.cli.printing import output

_RECORDS: Final[dict[str, Callable[[Path], Coroutine[Any, Any, None]]]] = {
    "volcano-py replay record": record_night,
    "--record night": record_contest,
}
"""What a page has in a command → what makes the record that it has at hand, in a folder of the last word's name."""
WIDTH: Final = 100  # characters; wider blocks have to be scrolled sideways on a page


def pages_with_transcripts() -> list[Path]:
    return [page for page in PAGES if any(block.language == "console" for block in blocks(page))]


def replayed(page: Path) -> Iterator[tuple[Block, str]]:
    """Each transcript of a page and what it must be, the files that the page shows being at hand."""
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)):
        Path("examples").symlink_to(PROJECT / "examples")
        for words, record in _RECORDS.items():
            if any(words in block.text for block in blocks(page) if block.language == "console"):
                asyncio.run(record(Path(words.split()[-1])))
        for block in blocks(page):
            if name := block.marks.get("file"):
                Path(name).write_text(block.text, encoding="utf-8")
            if block.language == "console":
                yield block, "".join(_session(block))


def _session(block: Block) -> Iterator[str]:
    for line in block.text.splitlines():
        if not line.startswith("$ "):
            continue
        program, *arguments = shlex.split(line[2:])
        if program != "volcano-py":
            raise ValueError(
                f"{block}: {program} is no command of ours; use a block of language sh for what is not run"
            )
        # Tables are printed as on a terminal of that width, and not as wide as in a file.
        with patch.object(output, "_FILE_WIDTH", WIDTH):
            result = CliRunner().invoke(main, arguments, prog_name="volcano-py")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        yield line + "\n"
        yield "".join(printed.rstrip() + "\n" for printed in result.output.splitlines())


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
