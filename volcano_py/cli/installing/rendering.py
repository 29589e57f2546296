"""The whole installation as one stream of YAML: what `kubectl apply -k manifests/` applies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from volcano_py.shipped import shipped

PARTS: Final = {"all": "", "crds": "../crds", "base": "base"}
"""What can be asked for → the kustomization, as seen from manifests/."""

Manifest = dict[str, Any]


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a block."""


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def manifests(part: str = "all", *, image: str = "") -> list[Manifest]:
    """The objects of a part of `PARTS`, in the order of the files; containers of ours run `image`, if given."""
    found = list(_objects(shipped("manifests") / PARTS[part]))
    for each in found:
        if image and each["kind"] == "Deployment":
            for container in each["spec"]["template"]["spec"]["containers"]:
                container["image"] = image
    return found


def rendered(objects: list[Manifest]) -> str:
    """As a stream of YAML documents."""
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, explicit_start=True)


def _objects(folder: Path) -> Iterator[Manifest]:
    """What the kustomization lists, with its labels: those that are installed by default ask for no more."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    labels = {key: value for each in kustomization.get("labels", ()) for key, value in each["pairs"].items()}
    for resource in kustomization["resources"]:
        path = folder / resource
        found = _objects(path) if path.is_dir() else yaml.safe_load_all(path.read_text(encoding="utf-8"))
        for each in found:
            if labels:
                each["metadata"].setdefault("labels", {}).update(labels)
            yield each
