"""A configuration under which jobs of a higher priority preempt others, and a PriorityClass for such jobs."""

from __future__ import annotations

from typing import Final

from e2e.harness.objects import Object

PREEMPTING: Final = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: nodeorder
"""

URGENT: Final[Object] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "e2e-urgent"},
    "value": 1000,
}
