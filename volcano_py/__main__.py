"""`python -m volcano_py`: the same as `volcano-py`, wherever that script may have been installed."""

from __future__ import annotations

from volcano_py.cli.main import main

main(prog_name="volcano-py")
