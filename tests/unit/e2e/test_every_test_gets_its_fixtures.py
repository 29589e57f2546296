"""A fixture that a test of the real cluster cannot have is found here, in seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import volcano_py

_PROJECT = Path(volcano_py.__file__).parents[1]


def test_pytest_can_plan_the_setup_of_all_end_to_end_tests() -> None:
    """Such as one of the whole session that asks for one of a folder, after a file has moved to that folder."""
    command = [sys.executable, "-m", "pytest", "e2e", "--setup-plan", "-q", "-p", "no:cacheprovider"]
    planned = subprocess.run(command, cwd=_PROJECT, capture_output=True, text=True, check=False)
    errors = [line for line in planned.stdout.splitlines() if line.startswith("ERROR")]
    assert planned.returncode == 0, "\n".join(errors) or planned.stdout[-2000:] + planned.stderr[-2000:]
