"""`python -m volcano_py.cli.reference`: see the package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from volcano_py.cli.reference import COMMAND
from volcano_py.cli.reference.bounds import bounds_page
from volcano_py.cli.reference.commands import commands_page
from volcano_py.cli.reference.configuration import configuration_page
from volcano_py.cli.reference.explanations import explanations_page
from volcano_py.observe import reference as observed

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    **observed.PAGES,
    "configuration.md": configuration_page,
    "cli.md": commands_page,
    "bounds.md": bounds_page,
    "explain.md": explanations_page,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; with `--check` compare them and return 1 when one differs."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Write the reference pages that are generated from code."
    )
    parser.add_argument(
        "--directory", type=Path, default=observed.DEFAULT_DIRECTORY, help="where the pages are (%(default)s)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is out of date")
    options = parser.parse_args(arguments)
    pages = {options.directory / name: page() for name, page in PAGES.items()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if options.check:
        for path in stale:
            sys.stderr.write(f"{path} is out of date: run {COMMAND}\n")
        return 1 if stale else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
