"""The reference page on the JSON of `volcano-py explain`."""

from __future__ import annotations

import json

import msgspec

from volcano_py.cli.reference import MARK
from volcano_py.explain.model import CronJobExplanation, NodeExplanation, QueueExplanation, WorkloadExplanation

_INTRODUCTION = """\
What `volcano-py explain ... --output json` prints, as JSON Schema. Amounts are whole units: cpu in millicores, memory
in bytes, pods and devices as counts. A field that has its default is left out."""


def explanations_page() -> str:
    kinds = {
        "PodGroup, Job and Pod": WorkloadExplanation,
        "CronJob": CronJobExplanation,
        "Queue": QueueExplanation,
        "Node": NodeExplanation,
    }
    parts = [f"{MARK}\n\n# The JSON of explain\n\n{_INTRODUCTION}\n"]
    for title, kind in kinds.items():
        schema = json.dumps(msgspec.json.schema(kind), indent=2)
        parts.append(f"## {title}\n\n```json\n{schema}\n```\n")
    return "\n".join(parts)
