"""The table in docs/guide/operate.md and the shipped roles say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]

ROLES = {
    "scheduler": {"volcano-py-scheduler"},
    "scheduler, if you grant it": {"volcano-py-queue-gates"},
    "podgroup controller": {"volcano-py-podgroup-controller"},
    "queue controller": {"volcano-py-queue-controller"},
    "job controller": {"volcano-py-job-controller"},
    "job plugins": {"volcano-py-job-plugins", "volcano-py-job-secrets"},
    "cronjob controller": {"volcano-py-cronjob-controller"},
    "jobflow controller": {"volcano-py-jobflow-controller"},
    "hypernode controller": {"volcano-py-hypernode-controller"},
}


def in_the_guide(page: str) -> dict[str, set[tuple[str, str]]]:
    """Part → (resource, verb), from rows such as "| scheduler | `pods`, `nodes`: create, patch | … |"."""
    found: dict[str, set[tuple[str, str]]] = {}
    part = ""
    for first, writes in re.findall(r"^\| ([^|]*)\| (`[a-z/]+`[^|]*) \|", page, re.MULTILINE):
        part = first.strip() or part
        for resources, verbs in re.findall(r"((?:`[a-z/]+`(?:, )?)+): ([a-z, ]+)", writes):
            pairs = {
                (name, verb.strip()) for name in re.findall(r"`([a-z/]+)`", resources) for verb in verbs.split(",")
            }
            found.setdefault(part, set()).update(pairs)
    return found


def in_the_roles(installation: list[Manifest], names: set[str]) -> set[tuple[str, str]]:
    return {
        (resource, verb)
        for role in installation
        if role["kind"] == "ClusterRole" and role["metadata"]["name"] in names
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in {"get", "list", "watch"} and resource != "events"
    }


def test_the_table_has_every_write_of_every_part_and_no_other(project: Path, installation: list[Manifest]) -> None:
    table = in_the_guide((project / "docs" / "guide" / "operate.md").read_text())
    assert table.pop("all of them") == {("events", "create"), ("events", "patch")}
    in_addition = list(yaml.safe_load_all((project / "manifests/overlays/queue-gates/rbac.yaml").read_text()))
    assert table == {part: in_the_roles(installation + in_addition, roles) for part, roles in ROLES.items()}
