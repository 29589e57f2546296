"""A plugin that was to move pods, and has moved none, says why below the tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from volcano_py.cli.simulate import simulate

OBJECTS = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "10", memory: 32Gi, pods: "110"}}}
- {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "10", memory: 32Gi, pods: "110"}}}
- kind: Pod
  apiVersion: v1
  metadata:
    name: web
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]
  spec: {nodeName: n2, schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
- {apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: n1}, timestamp: "2026-01-01T00:00:00Z",
   usage: {cpu: "1", memory: 1Gi}}
- {apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: n2}, timestamp: "2026-01-01T00:00:00Z",
   usage: {cpu: "LOAD", memory: 1Gi}}
"""
CONFIGURATION = """
actions: "allocate, shuffle"
tiers:
- plugins: [{name: gang}, {name: predicates}]
- plugins:
  - name: rescheduling
    arguments:
      strategies: [{name: lowNodeUtilization, params: {thresholds: {cpu: 20}, targetThresholds: {cpu: 60}}}]
"""


@pytest.mark.parametrize(
    ("load", "last"),
    [
        ("5", "rescheduling did nothing: no node uses more than targetThresholds, cpu 60 % and memory 100 %; "),
        ("8", "1 evictions: default/web"),
    ],
)
def test_the_reason_is_below_the_tables_if_nothing_was_moved(tmp_path: Path, load: str, last: str) -> None:
    objects, configuration = tmp_path / "objects.yaml", tmp_path / "volcano-scheduler.conf"
    objects.write_text(OBJECTS.replace("LOAD", load))
    configuration.write_text(CONFIGURATION)
    arguments = ["--filename", str(objects), "--scheduler-conf", str(configuration)]
    result = CliRunner(env={"COLUMNS": "400"}).invoke(simulate, arguments)
    assert result.exit_code == 0, result.output
    assert last in result.stdout.splitlines()[-1]
