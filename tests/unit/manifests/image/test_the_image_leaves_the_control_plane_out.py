"""The image has what runs in a cluster. What builds a control plane to try on stays with the source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Final

import pytest

from volcano_py.cli.main import NOT_IN_THE_IMAGE, VERBS

NEEDS_A_CONTROL_PLANE: Final = {"up", "bench"}

LOAD_ALL: Final = """
import json, sys
import click
from volcano_py.cli.main import VERBS, main
help = {name: main.get_command(click.Context(main), name).help for name in VERBS}
print(json.dumps(sorted(name for name, text in help.items() if text)))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages as the builder of the image gets them: the tree without what .dockerignore takes out of it."""
    project = Path(__file__).resolve().parents[4]
    ignore = (project / ".dockerignore").read_text().split("\n")
    left_out = {project / line for line in ignore if line.startswith("volcano_py/")}
    root = tmp_path_factory.mktemp("image")

    def ignored(folder: str, names: list[str]) -> set[str]:
        rest = ignore_patterns("__pycache__", "static")(folder, names)
        return {name for name in names if Path(folder) / name in left_out} | set(rest)

    copytree(project / "volcano_py", root / "volcano_py", ignore=ignored)
    for folder in ("crds", "manifests", "charts"):
        (root / folder).symlink_to(project / folder)
    return root


def _run(image: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=image, capture_output=True, text=True, check=False)


def test_what_is_left_out_is_what_the_command_line_knows_to_be_missing(image: Path) -> None:
    left_out = {name for name in NOT_IN_THE_IMAGE if not (image / name.replace(".", "/")).exists()}

    assert left_out == NOT_IN_THE_IMAGE


@pytest.mark.parametrize("verb", sorted(NEEDS_A_CONTROL_PLANE))
@pytest.mark.parametrize("arguments", [(), ("--help",), ("--nodes", "3")])
def test_a_verb_that_is_left_out_says_so_in_a_sentence(image: Path, verb: str, arguments: tuple[str, ...]) -> None:
    answer = _run(image, "-m", "volcano_py", verb, *arguments)

    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == (
        f"Error: {verb} needs the local control plane, which the image does not have. Install the program from its "
        f"source with `pip install .`, outside of a cluster, and run `volcano-py {verb}` there.\n"
    )


def test_every_other_verb_is_there(image: Path) -> None:
    answer = _run(image, "-c", LOAD_ALL)

    assert answer.stderr == ""
    assert json.loads(answer.stdout) == sorted(set(VERBS) - NEEDS_A_CONTROL_PLANE)


def test_the_manifests_are_printed_without_it(image: Path) -> None:
    answer = _run(image, "-m", "volcano_py", "manifests", "crds")

    assert (answer.returncode, answer.stderr) == (0, "")
    assert "kind: CustomResourceDefinition" in answer.stdout
