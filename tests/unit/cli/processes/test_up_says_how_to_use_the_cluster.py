"""The programs that the head of the screen offers, and that its lines can be copied from a small terminal."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from volcano_py.cli.processes.looking_around import how_to_look_around, linked_programs


def test_programs_are_found_by_their_names_and_what_is_missing_is_left_out(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl-1.36.1-cd2d401f27c9" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text("#!/bin/sh\n")
    kubectl.chmod(0o755)
    bin_ = linked_programs(tmp_path / "bin", {"kubectl": kubectl, "volcano-py": tmp_path / "gone"})
    assert [path.name for path in bin_.iterdir()] == ["kubectl"]
    assert shutil.which("kubectl", path=str(bin_)) == str(bin_ / "kubectl")


def test_lines_to_copy_fit_eighty_columns_and_paths_are_quoted(tmp_path: Path) -> None:
    root = tmp_path / "a b"
    root.mkdir()
    head = how_to_look_around(*_cluster(root), "v1.36.1")
    assert f"  export KUBECONFIG='{root}/admin.kubeconfig'" in head.lines
    assert f"  export PATH='{root}/bin':$PATH  # kubectl, volcano-py" in head.most_needed
    usual = [line.replace(str(root), "/tmp/volcano-py-4isd_n_n") for line in head.lines]
    assert max(map(len, usual)) <= 80


def _cluster(root: Path) -> tuple[Any, Any]:
    kubectl = root / "kubectl"
    kubectl.touch()
    layout = SimpleNamespace(root=root, logs=root / "logs")
    plane = SimpleNamespace(layout=layout, kubeconfig=root / "admin.kubeconfig", binary=lambda _: kubectl)
    return plane, SimpleNamespace(url="http://127.0.0.1:18987")
