"""The pages of docs/reference that come from code: `python -m volcano_py.cli.reference` writes them all.

`--check` writes nothing and fails when a page is out of date.
"""

from __future__ import annotations

from typing import Final

COMMAND: Final = "python -m volcano_py.cli.reference"
MARK: Final = f"<!-- Made by `{COMMAND}`; edit the code it comes from, not this page. -->"
