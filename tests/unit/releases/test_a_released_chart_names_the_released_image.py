"""The chart of a release, packaged by a program that keeps what it is given in the place of Helm."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import yaml


def test_its_values_name_the_image_and_nothing_else_changes(project: Path, tmp_path: Path) -> None:
    helm = tmp_path / "helm"
    helm.write_text(f'#!/bin/sh\n[ "$1" = package ] && cp -r "$2" {tmp_path}/chart && echo "$4" > {tmp_path}/folder\n')
    helm.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [str(project / ".ci" / "release-chart"), "registry.example.com/batch/scheduler", "out"]
    subprocess.run(command, env=environment, check=True)

    assert (tmp_path / "folder").read_text() == "out\n"
    shipped = project / "charts" / "volcano-py"
    expected = yaml.safe_load((shipped / "values.yaml").read_text())
    expected["basic"] |= {"image_registry": "registry.example.com/batch/", "scheduler_image_name": "scheduler"}
    assert yaml.safe_load((tmp_path / "chart" / "values.yaml").read_text()) == expected
    packaged = {path.relative_to(tmp_path / "chart") for path in (tmp_path / "chart").rglob("*") if path.is_file()}
    assert {path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file()} <= packaged
    assert not any(path.is_symlink() for path in (tmp_path / "chart").rglob("*"))
