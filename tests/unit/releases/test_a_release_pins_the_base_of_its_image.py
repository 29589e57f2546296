"""`make image` builds a release on a base with a digest. A program that notes its arguments stands in for docker."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def base(project: Path) -> str:
    found = re.search(r"^ARG PYTHON_IMAGE=(.*)$", (project / "Dockerfile").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def build(project: Path, tmp_path: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What came of it, and the arguments that docker was given, none if it was not run."""
    noted = tmp_path / "noted"
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {noted}\n')
    docker.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [str(project / ".ci" / "image"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done, noted.read_text().splitlines() if noted.exists() else []


def test_the_base_is_the_version_of_the_dockerfile_at_the_given_digest(
    project: Path, tmp_path: Path, base: str
) -> None:
    done, asked = build(project, tmp_path, "registry.example.com/volcano-py:0.1.0", DIGEST)
    assert done.returncode == 0, done.stderr
    assert f"PYTHON_IMAGE={base}@{DIGEST}" in asked
    assert f"org.opencontainers.image.base.digest={DIGEST}" in asked
    assert asked[:3] == ["build", "--tag", "registry.example.com/volcano-py:0.1.0"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="nothing"),
        pytest.param(["image"], id="no digest"),
        pytest.param(["image", "latest"], id="a tag"),
        pytest.param(["image", DIGEST[:-1]], id="a digit is missing"),
        pytest.param(["", DIGEST], id="no name"),
    ],
)
def test_nothing_is_built_without_a_digest(project: Path, tmp_path: Path, base: str, arguments: list[str]) -> None:
    done, asked = build(project, tmp_path, *arguments)
    assert (done.returncode, asked) == (2, [])
    assert f"docker buildx imagetools inspect {base}" in done.stderr


def test_make_passes_on_what_it_is_given(project: Path) -> None:
    command = ["make", "--dry-run", "--no-print-directory", "image", "IMAGE=name", f"DIGEST={DIGEST}"]
    shown = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == f'.ci/image "name" "{DIGEST}"'


def test_what_the_release_adds_comes_last(project: Path, tmp_path: Path) -> None:
    done, asked = build(project, tmp_path, "name", DIGEST, "--platform", "linux/amd64,linux/arm64", "--push")
    assert done.returncode == 0, done.stderr
    assert asked[-4:] == ["--platform", "linux/amd64,linux/arm64", "--push", "."]
