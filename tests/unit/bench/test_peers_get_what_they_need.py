"""A peer of the benchmark gets CRDs from a folder, and a folder of its own with its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano_py.bench.contenders import peer
from volcano_py.bench.peers import read_crds
from volcano_py.local.errors import LocalError

_CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %s}\n"


def test_crds_are_read_from_all_yaml_files_of_a_folder_and_other_objects_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(_CRD % "one" + "---\n" + _CRD % "two", encoding="utf-8")
    (tmp_path / "b.yml").write_text("kind: Namespace\n---\n" + _CRD % "three", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no YAML: [", encoding="utf-8")
    assert [crd["metadata"]["name"] for crd in read_crds(tmp_path)] == ["one", "two", "three"]


def test_a_folder_without_crds_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Namespace\n", encoding="utf-8")
    with pytest.raises(LocalError, match="has no CustomResourceDefinition"):
        read_crds(tmp_path)


def test_a_file_that_is_not_yaml_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: [", encoding="utf-8")
    with pytest.raises(LocalError, match=r"a\.yaml is not YAML"):
        read_crds(tmp_path)


def test_a_command_names_the_folder_and_the_configuration_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "peer"
    found = peer(tmp_path / "config", "peer", "run --conf={configuration} --home={directory} {kubeconfig}", folder)
    command = found.process(tmp_path).command
    assert command == ["run", f"--conf={folder}/scheduler.conf", f"--home={folder}", f"{tmp_path}/config"]
