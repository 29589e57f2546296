"""Nodes of generated clusters: small, so that they fill up, and each a little different."""

from __future__ import annotations

from e2e.differential.words import CLUSTER_LABEL, DISKS, GPU, HUGE_PAGES, NUMBERS, Manifest, Words
from volcano_py.local.nodes import simulated_node

TAINT_KEYS = ("dedicated", "maintenance", "level")
TAINT_VALUES = ("", "gpu", "5", "10")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
IMAGES = (
    ("registry.example/web:v1", 30),
    ("registry.example/db:v2", 400),
    ("registry.example/cache:latest", 90),
    ("registry.example/model:v1", 1500),
)
"""Names and sizes in MiB."""


def make_nodes(words: Words) -> list[Manifest]:
    return [_node(words, name) for name in words.nodes]


def _node(words: Words, name: str) -> Manifest:
    node = simulated_node(
        name,
        allocatable=_allocatable(words),
        labels=_labels(words),
        taints=_taints(words),
    )
    if words.chance(0.1):
        node["spec"]["unschedulable"] = True
    node["status"]["images"] = [
        {"names": [name], "sizeBytes": size * 1024 * 1024} for name, size in words.some_of(IMAGES, 0)
    ]
    return node


def _allocatable(words: Words) -> dict[str, str]:
    amounts = {
        "cpu": words.one_of(("1", "1500m", "2", "4", "8")),
        "memory": words.one_of(("1Gi", "2Gi", "4000Mi", "8Gi", "5G")),
        "pods": str(words.one_of((2, 3, 4, 6, 110))),
        "ephemeral-storage": words.one_of(("2Gi", "20Gi")),
    }
    if words.chance(0.3):
        amounts[GPU] = str(words.between(0, 4))
    if words.chance(0.2):
        amounts[HUGE_PAGES] = words.one_of(("0", "64Mi"))
    return amounts


def _labels(words: Words) -> dict[str, str]:
    labels = {CLUSTER_LABEL: words.cluster}
    if words.chance(0.9):
        labels[words.zone] = words.one_of(("a", "b", "c"))
    if words.chance(0.8):
        labels[words.rack] = words.one_of(("r1", "r2", "r3", "r4"))
    if words.chance(0.7):
        labels["disk"] = words.one_of(DISKS)
    if words.chance(0.7):
        labels["cores"] = words.one_of(NUMBERS)
    return labels


def _taints(words: Words) -> list[dict[str, str]]:
    if words.chance(0.6):
        return []
    pairs = [(key, effect) for key in TAINT_KEYS for effect in EFFECTS]
    return [
        {"key": key, "effect": effect, "value": words.one_of(TAINT_VALUES)}
        for key, effect in words.some_of(pairs, 1, 3)
    ]
