"""`volcano-py config check`: places are the file's, also in a ConfigMap, and a file that is not a configuration is
reported.
"""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from volcano_py.cli.main import main

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: volcano-scheduler-configmap}\n"
BLOCK = """\
data:
  volcano-scheduler.conf: |

    actions: "alocate"
    tiers: []
"""


def check(folder: Path, content: str | bytes, *more: str) -> Result:
    file = folder / "given.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    result = CliRunner().invoke(main, ["config", "check", str(file), *more])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result


def reported(folder: Path, content: str | bytes) -> str:
    """What is wrong, without the folder."""
    return check(folder, content).output.replace(f"{folder}/", "")


def test_lines_and_columns_are_those_of_the_file(tmp_path: Path) -> None:
    assert reported(tmp_path, HEAD + BLOCK).startswith("given.yaml:7:15: ")
    (problem, *_) = orjson.loads(check(tmp_path, HEAD + BLOCK, "-o", "json").stdout)["problems"]
    assert (problem["path"], problem["line"], problem["column"]) == ("actions[0]", 7, 15)


def test_so_they_are_in_a_list(tmp_path: Path) -> None:
    """As `kubectl get configmaps -o yaml` prints them."""
    indented = "".join(f"  {line}\n" if line else "\n" for line in (HEAD + BLOCK).splitlines())
    lines = f"apiVersion: v1\nkind: List\nitems:\n- {{kind: Secret, metadata: {{name: a}}}}\n-{indented[1:]}"
    assert reported(tmp_path, lines).startswith("given.yaml:11:17: ")


@pytest.mark.parametrize(
    "data",
    [
        'data: {volcano-scheduler.conf: "actions: \\"alocate\\"\\ntiers: []\\n"}\n',
        'data:\n  volcano-scheduler.conf: |\n    ---\n    actions: "alocate"\n    tiers: []\n',
    ],
    ids=["in quotes", "with the mark of a document"],
)
def test_what_cannot_be_placed_in_the_file_is_counted_within_its_text(tmp_path: Path, data: str) -> None:
    assert "given.yaml, text of data.volcano-scheduler.conf:" in reported(tmp_path, HEAD + data)


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        (HEAD + "data: {other.conf: a, more.conf: b}\n", "ConfigMap with other.conf, more.conf in its data"),
        (HEAD, "ConfigMap with nothing in its data"),
        ("kind: Namespace\nmetadata: {name: a}\n---\n" + HEAD + BLOCK, "Namespace"),
        ("kind: List\nitems: []\n", "an empty List"),
        ("kind: List\nitems: [3, {kind: Pod}]\n", "something without a kind, Pod"),
    ],
)
def test_a_manifest_without_a_configuration_is_reported_as_such(tmp_path: Path, manifest: str, found: str) -> None:
    assert reported(tmp_path, manifest) == (
        f"Error: given.yaml: the first document is {found}; expected a configuration, or a ConfigMap with"
        " data.volcano-scheduler.conf: put that into a file of its own\n"
    )


def test_bytes_that_are_not_text_are_reported(tmp_path: Path) -> None:
    assert reported(tmp_path, b'actions: "\xff"\n') == "Error: given.yaml: not a text file in UTF-8\n"
    file = tmp_path / "given.yaml"
    result = CliRunner().invoke(main, ["simulate", "-f", "-", "--scheduler-conf", str(file)], input="")
    assert (result.exit_code, result.stderr) == (1, f"Error: {file}: not a text file in UTF-8\n")


def test_deep_nesting_is_refused_as_in_any_configuration(tmp_path: Path) -> None:
    assert "nested deeper than" in reported(tmp_path, "a: " + "[" * 3000 + "]" * 3000)
