"""Volcano's own manifests run its scheduler without a Lease, so nothing keeps two schedulers from binding at once."""

from __future__ import annotations

from pathlib import Path

import yaml


def test_the_overlay_for_a_cluster_that_runs_volcano_has_no_replicas(project: Path) -> None:
    overlay = project / "manifests" / "overlays" / "take-over-from-volcano" / "kustomization.yaml"
    (deployment,) = [
        document
        for document in yaml.safe_load_all((project / "manifests" / "base" / "deployment.yaml").read_text())
        if document["kind"] == "Deployment"
    ]
    assert yaml.safe_load(overlay.read_text())["replicas"] == [{"name": deployment["metadata"]["name"], "count": 0}]
