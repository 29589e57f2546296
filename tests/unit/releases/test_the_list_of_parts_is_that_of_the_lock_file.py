"""The SBOM of a release (`make sbom`), made here as there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_every_locked_package_is_listed_with_its_hashes(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx_py", reason="the extra `dev` is not installed: make lint")
    command = ["make", "--dry-run", "--no-print-directory", "sbom"]
    shown = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True).stdout
    found = re.search(r"cyclonedx-py (requirements .*)", shown.replace("\\\n", " "))
    assert found is not None
    arguments = found[1].replace("dist/volcano-py.cdx.json", str(tmp_path / "sbom.json")).split()
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *arguments], cwd=project, capture_output=True, check=True)

    listed = json.loads((tmp_path / "sbom.json").read_text())
    assert listed["metadata"]["component"]["name"] == "volcano-py"
    locked = re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", (project / "requirements.lock").read_text(), re.MULTILINE)
    assert sorted((part["name"], part["version"]) for part in listed["components"]) == sorted(locked)
    assert all(part["externalReferences"][0]["hashes"] for part in listed["components"])
