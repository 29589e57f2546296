"""What a second terminal needs to work with a local cluster."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from volcano_py.cli.live.screen import Head
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.scheduler import SchedulerProcess

# Of the project's own, those that speak to a cluster; the others make `kubectl volcano`, and complete it.
_OURS = ("volcano-py", "kubectl-volcano", "kubectl_complete-volcano")


def how_to_look_around(plane: ControlPlane, scheduler: SchedulerProcess, kubernetes: str) -> Head:
    """The head of the screen. Its lines fit 80 columns below the usual /tmp, so that they can be copied."""
    ours = {name: Path(sys.executable).with_name(name) for name in _OURS}
    programs = linked_programs(plane.layout.root / "bin", {"kubectl": plane.binary("kubectl"), **ours})
    needed = (
        f"  export KUBECONFIG={shlex.quote(str(plane.kubeconfig))}",
        f"  export PATH={shlex.quote(str(programs))}:$PATH  # kubectl, volcano-py",
    )
    lines = (
        f"volcano-py {version('volcano-py')} schedules for Kubernetes {kubernetes}. Ctrl-C ends it.",
        "There is no other scheduler: a pod needs schedulerName: volcano. Look around:",
        "",
        *needed,
        "  kubectl get queues,podgroups,pods --all-namespaces --output wide",
        "  volcano-py podgroup list --all-namespaces",
        "",
        f"Metrics: {scheduler.url}/metrics   Logs: {plane.layout.logs}",
    )
    return Head(lines, needed)


def linked_programs(directory: Path, programs: Mapping[str, Path]) -> Path:
    """The directory, with a link by its name to each of the programs that exists; what else is on PATH stays apart."""
    directory.mkdir(mode=0o700, exist_ok=True)
    for name, program in programs.items():
        if program.exists():
            (directory / name).symlink_to(program)
    return directory
