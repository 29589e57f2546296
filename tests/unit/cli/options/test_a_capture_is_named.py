"""`--from FILE` and `--from-cluster`."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.unit.capture.clusters import forbid, serve
from tests.unit.cli.cluster import UserOfCluster
from volcano_py.capture.file import written
from volcano_py.capture.model import Capture, Unread
from volcano_py.cli.main import main
from volcano_py.cli.options.captured import Source, source_options
from volcano_py.cluster.kubernetes.watching import kinds


@click.command()
@click.option("--loud", is_flag=True)
@source_options
def show(source: Source, loud: bool) -> None:
    """A verb with these options."""
    found = source.capture()
    click.echo(f"{len(found.items)} {sorted(found.scheduler_names)} {found.default_queue} {loud} {source.is_given}")


@pytest.fixture(autouse=True)
def _is_a_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    get = type(main).get_command
    monkeypatch.setattr(
        type(main), "get_command", lambda self, ctx, name: show if name == "show" else get(self, ctx, name)
    )


@pytest.fixture
def file(tmp_path: Path) -> str:
    missing = Unread("Node", "forbidden", "no pod fits anywhere")
    capture = Capture(taken=1.0, items=(), configuration="", scheduler_names=frozenset({"a"}), unread=(missing,))
    path = tmp_path / "cluster.capture"
    path.write_bytes(written(capture))
    return str(path)


def test_a_file_says_what_is_not_in_it(file: str) -> None:
    result = CliRunner().invoke(main, ["show", "--from", file])

    assert result.stdout == "0 ['a'] default False True\n"
    assert result.stderr == "Node not read: forbidden; no pod fits anywhere\n"


def test_options_replace_what_the_file_has(file: str) -> None:
    names = ["--scheduler-name", "b", "--scheduler-name", "c", "--default-queue", "q", "--loud"]
    result = CliRunner().invoke(main, ["show", "--from", file, *names])

    assert result.stdout == "0 ['b', 'c'] q True True\n"


@pytest.mark.parametrize("other", [("--from-cluster",), ("--context", "prod"), ("--kubeconfig", "k")])
def test_a_file_and_a_cluster_exclude_each_other(file: str, other: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["show", "--from", file, *other])

    assert result.exit_code == 2
    assert "--from names files, the other options a live cluster: use only one of them" in result.output


def test_manifests_are_a_cluster_with_the_configuration_among_them(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(
        """
kind: Pod
metadata: {name: web}
---
kind: ConfigMap
metadata: {name: volcano-scheduler-configmap}
data:
  volcano-scheduler.conf: |
    actions: "allocate"
""",
        encoding="utf-8",
    )
    (tmp_path / "nodes.json").write_text('{"kind": "Node", "metadata": {"name": "n1"}}', encoding="utf-8")
    files = ["--from", str(tmp_path / "cluster.yaml"), "--from", str(tmp_path / "nodes.json")]

    assert CliRunner().invoke(main, ["show", *files]).stdout == "4 ['volcano'] default False True\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\nmetadata: {name: 7}\n", "document 1 (Pod 7): metadata.name is 7, expected text: put it in quotes"),
        (
            "kind: ConfigMap\nmetadata: {name: volcano-scheduler-configmap}\n",
            "document 1 (ConfigMap volcano-scheduler-configmap): it has no key volcano-scheduler.conf",
        ),
    ],
)
def test_manifests_that_cannot_be_read_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(text, encoding="utf-8")

    result = CliRunner().invoke(main, ["show", "--from", str(path)])

    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr


def test_a_capture_is_a_whole_cluster(file: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["show", "--from", file, "--from", str(tmp_path)])

    assert result.exit_code == 2
    assert "is a capture of a whole cluster: name no other file with --from" in result.output


@pytest.mark.real_time
async def test_the_cluster_is_read_with_the_users_login(user: UserOfCluster) -> None:
    serve(user.api)
    forbid(user.api, kinds.STORAGE_CLASS)

    result = await user.run("show", "--from-cluster", "--scheduler-name", "mine")

    assert result.stdout.endswith("['mine'] default False True\n")
    assert result.stderr.startswith("StorageClass not read: ")
