"""What the Dockerfile promises, read from its instructions; there is not always a docker daemon to build it with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

Instruction = tuple[str, str]


@pytest.fixture
def stages(project: Path) -> list[list[Instruction]]:
    """Instructions by build stage; the first list holds what comes before the first FROM."""
    text = re.sub(r"\\\n", " ", (project / "Dockerfile").read_text())
    found: list[list[Instruction]] = [[]]
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest.strip()))
    return found


@pytest.fixture
def pyproject(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())


def test_the_base_is_a_slim_python_of_a_pinned_version(stages: list[list[Instruction]]) -> None:
    head, build, final = stages
    assert [rest for word, rest in head if word == "ARG"] == [
        next(rest for _, rest in head if rest.startswith("PYTHON_IMAGE="))
    ]
    image = head[0][1].removeprefix("PYTHON_IMAGE=")
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", image)
    assert build[0] == ("FROM", "${PYTHON_IMAGE} AS build")
    assert final[0] == ("FROM", "${PYTHON_IMAGE}")


def test_the_base_is_new_enough_for_the_project(stages: list[list[Instruction]], pyproject: dict[str, Any]) -> None:
    found = re.search(r"python:3\.(\d+)", stages[0][0][1])
    assert found is not None
    assert int(found[1]) >= int(pyproject["project"]["requires-python"].removeprefix(">=3."))


def test_the_last_user_is_the_deployments_numeric_account(
    stages: list[list[Instruction]], pod_template: dict[str, Any]
) -> None:
    context = pod_template["spec"]["securityContext"]
    users = [rest for word, rest in stages[-1] if word == "USER"]
    assert users[-1] == f"{context['runAsUser']}:{context['runAsGroup']}"


def test_only_the_virtual_environment_reaches_the_image(stages: list[list[Instruction]]) -> None:
    assert [rest for word, rest in stages[-1] if word == "COPY"] == ["--from=build /opt/volcano-py /opt/volcano-py"]
    assert not any(word == "ADD" for stage in stages for word, _ in stage)


def test_nothing_is_compiled_cached_or_fetched_by_url(stages: list[list[Instruction]]) -> None:
    runs = [rest for stage in stages for word, rest in stage if word == "RUN"]
    pips = [command for run in runs for command in run.split("&&") if re.search(r"\bpip\b.* (install|wheel) ", command)]
    assert len(pips) == 4
    assert all("--no-cache-dir" in command for command in pips)
    assert all("--only-binary=:all:" in command for command in pips if " install " in command)
    assert not any(word in run for run in runs for word in ("curl", "wget", "apt-get", "git clone", "://"))


def test_every_package_comes_by_the_hash_in_a_lock_file(stages: list[list[Instruction]]) -> None:
    """Only the project's own wheel has no hash; it is built and installed without looking for any other package."""
    runs = [rest for stage in stages for word, rest in stage if word == "RUN"]
    pips = [command for run in runs for command in run.split("&&") if re.search(r"\bpip\b.* (install|wheel) ", command)]
    locked = [command for command in pips if "--require-hashes" in command]
    assert [re.findall(r"--requirement (\S+)", command) for command in locked] == [
        ["requirements-build.lock"],
        ["requirements.lock"],
    ]
    for command in set(pips) - set(locked):
        assert "--no-deps" in command
        assert " install " in command or "--no-build-isolation" in command


def test_the_entry_point_is_a_command_the_project_installs(
    stages: list[list[Instruction]], pyproject: dict[str, Any]
) -> None:
    (entry,) = (rest for word, rest in stages[-1] if word == "ENTRYPOINT")
    assert entry in {f'["{script}"]' for script in pyproject["project"]["scripts"]}


def test_all_that_the_wheel_is_built_from_gets_to_the_builder(
    stages: list[list[Instruction]], pyproject: dict[str, Any], project: Path
) -> None:
    wheel = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]
    locks = {"requirements.lock", "requirements-build.lock"}
    hook = pyproject["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    readme = [each["path"] for each in hook["fragments"]]
    needed = {"pyproject.toml", "LICENSE", *readme, *wheel["packages"], *wheel["force-include"]}
    needed |= locks
    copied = {word for instruction, rest in stages[1] if instruction == "COPY" for word in rest.split()[:-1]}
    assert copied == needed
    ignore = (project / ".dockerignore").read_text().split("\n")
    assert {line.removeprefix("!") for line in ignore if line.startswith("!")} == needed
    assert "*" in ignore
