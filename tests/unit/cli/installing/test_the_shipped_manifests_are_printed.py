"""`volcano-py manifests`: the same objects as the kustomizations have, and the files themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click.testing
import pytest
import yaml

from volcano_py.cli.installing.manifests import FOLDERS
from volcano_py.cli.main import main
from volcano_py.shipped import shipped


def printed(*arguments: str) -> list[dict[str, Any]]:
    result = click.testing.CliRunner().invoke(main, ["manifests", *arguments])
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.output))


def of_files(*folders: str) -> list[dict[str, Any]]:
    """All objects of the files in these folders."""
    files = [path for folder in folders for path in (shipped("manifests") / folder).glob("*.yaml")]
    files = [path for path in files if path.name != "kustomization.yaml"]
    return [each for path in files for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def contents(folder: Path) -> dict[Path, bytes]:
    """All files; links are followed."""
    return {
        (found := Path(parent) / name).relative_to(folder): found.read_bytes()
        for parent, _, files in os.walk(folder, followlinks=True)
        for name in files
    }


def names(objects: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((each["kind"], each["metadata"]["name"]) for each in objects)


@pytest.mark.parametrize(
    ("part", "folders"), [("all", ("../crds", "base")), ("crds", ("../crds",)), ("base", ("base",))]
)
def test_each_part_has_the_objects_of_its_files(part: str, folders: tuple[str, ...]) -> None:
    assert names(printed(part)) == names(of_files(*folders))


def test_kinds_are_defined_and_the_namespace_exists_before_what_needs_them() -> None:
    kinds = [each["kind"] for each in printed()]
    defined = [place for place, kind in enumerate(kinds) if kind == "CustomResourceDefinition"]
    assert defined == list(range(len(defined)))
    assert kinds[len(defined)] == "Namespace"


def test_objects_are_those_of_the_files_with_the_label_of_the_kustomization() -> None:
    of_base = {(each["kind"], each["metadata"]["name"]): each for each in of_files("base")}
    for each in printed("base"):
        assert each["metadata"]["labels"].pop("app.kubernetes.io/part-of") == "volcano-py"
        original = of_base[each["kind"], each["metadata"]["name"]]
        original["metadata"].setdefault("labels", {})
        assert each == original


def test_the_image_can_be_named() -> None:
    (deployment,) = [each for each in printed("--image", "r.example.com/v:1") if each["kind"] == "Deployment"]
    assert [each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]] == ["r.example.com/v:1"]


def test_the_files_are_written_to_a_new_folder(tmp_path: Path) -> None:
    target = tmp_path / "volcano-py"
    result = click.testing.CliRunner().invoke(main, ["manifests", "--directory", str(target)])
    assert result.exit_code == 0, result.output
    for folder in FOLDERS:
        written = contents(target / folder)
        assert written == contents(shipped(folder))
        assert not any(path.is_symlink() for path in (target / folder).rglob("*")), "it stands alone"
    again = click.testing.CliRunner().invoke(main, ["manifests", "--directory", str(target)])
    assert again.exit_code == 1
    assert again.output == f"Error: {target} exists already; name a new folder\n"


def test_a_folder_has_all_files_as_they_are(tmp_path: Path) -> None:
    result = click.testing.CliRunner().invoke(main, ["manifests", "crds", "--directory", str(tmp_path / "new")])
    assert result.exit_code == 2
    assert "leave out PART and --image" in result.output
