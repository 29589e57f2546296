"""Writes dashboards and alerts below manifests/monitoring: `python -m volcano_py.observe.monitoring`.

`--check` writes nothing and fails when a file is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from volcano_py.observe.monitoring.files import files

COMMAND: Final = "python -m volcano_py.observe.monitoring"
DIRECTORY: Final = Path("manifests/monitoring")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; with `--check` compare them and return 1 when one differs."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write the dashboards and alerts that are shipped.")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where the files are (%(default)s)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    options = parser.parse_args(arguments)
    texts = {options.directory / name: text for name, text in files().items()}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if options.check:
        for path in stale:
            sys.stderr.write(f"{path} is out of date: run {COMMAND}\n")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
