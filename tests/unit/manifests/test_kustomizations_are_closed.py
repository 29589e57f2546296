"""Every kustomization lists the files next to it, and refers to nothing outside except other kustomizations."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[3]
KUSTOMIZATIONS = sorted(
    path for root in ("crds", "manifests", "e2e/kind") for path in (PROJECT / root).rglob("kustomization.yaml")
)


def label(path: Path) -> str:
    return str(path.parent.relative_to(PROJECT))


EACH = pytest.mark.parametrize("kustomization", KUSTOMIZATIONS, ids=label)


def test_the_installation_its_parts_and_its_overlays_are_covered() -> None:
    assert {"crds", "manifests", "manifests/base", "e2e/kind"} <= {label(path) for path in KUSTOMIZATIONS}


@EACH
def test_every_file_next_to_it_is_listed(kustomization: Path) -> None:
    document = yaml.safe_load(kustomization.read_text())
    listed = {each for each in document["resources"] if each.endswith(".yaml")}
    listed |= {file for each in document.get("configMapGenerator", ()) for file in each["files"]}
    beside = {path.name for path in kustomization.parent.iterdir() if path.suffix in (".yaml", ".json")}
    beside -= {"kustomization.yaml"}
    if kustomization.parent.name == "kind":
        beside -= {"cluster.yaml", "gang.yaml"}  # for kind itself, and for run.sh to apply later
    assert listed == beside


@EACH
def test_files_are_its_own_and_directories_have_a_kustomization(kustomization: Path) -> None:
    """kubectl refuses a file from outside the directory, and a directory that is no kustomization."""
    for resource in yaml.safe_load(kustomization.read_text())["resources"]:
        path = kustomization.parent / resource
        if path.is_dir():
            assert (path / "kustomization.yaml").is_file(), resource
            assert not kustomization.parent.is_relative_to(path.resolve()), f"{resource} would contain itself"
        else:
            assert path.is_file(), resource
            assert path.parent == kustomization.parent, resource


@EACH
def test_every_document_is_yaml_with_a_kind_and_no_key_twice(kustomization: Path) -> None:
    class Loader(yaml.SafeLoader):
        """Refuses a mapping that holds a key twice, which YAML readers otherwise resolve in silence."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"a key twice at {node.start_mark}"
            return super().construct_mapping(node, deep)

    for path in kustomization.parent.glob("*.yaml"):
        for document in yaml.load_all(path.read_text(), Loader):
            assert {"apiVersion", "kind"} <= set(document), path


@EACH
def test_folded_texts_are_one_line(kustomization: Path) -> None:
    """A line that is indented more than the first stays a line of its own, and kustomize adds an empty one."""
    for path in kustomization.parent.glob("*.yaml"):
        for event in yaml.parse(path.read_text(), yaml.SafeLoader):
            if isinstance(event, yaml.ScalarEvent) and event.style == ">":
                assert "\n" not in event.value.rstrip("\n"), f"{path}, {event.start_mark}"
