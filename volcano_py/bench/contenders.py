"""The schedulers that are compared, as processes, with limits that they do not reach."""

from __future__ import annotations

import compileall
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from volcano_py.local.processes.ports import LOOPBACK, free_port
from volcano_py.local.processes.processes import ManagedProcess

# Requests per second: more than one API server on this kind of machine answers.
QPS = 10_000
BURST = 20_000

KUBE_SCHEDULER: Final = "kube-scheduler"
CONFIGURATION: Final = "scheduler.conf"
"""The file in a contender's folder."""

# Other braces in a command are its own, such as those of JSON.
_FIELD: Final = re.compile(r"\{(kubeconfig|configuration|directory|port)\}")


@dataclass(frozen=True, slots=True)
class Contender:
    """How to start one scheduler, and how it logs in: with a kubeconfig, or with `variables` of its environment.

    `command` may have {kubeconfig}, {configuration}, {directory} and {port} in it. `rehearsal` is a command that reads
    the files which the scheduler loads; without one that is its program alone. `folder` is one of its own, with its
    configuration in it.
    """

    name: str
    scheduler_name: str
    command: tuple[str, ...]
    kubeconfig: Path | None = None
    rehearsal: tuple[str, ...] = ()
    folder: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def warm_up(self) -> None:
        """Have what it loads in the system's cache: whose files happen to be there already is not what is compared."""
        if self.rehearsal:
            subprocess.run(self.rehearsal, check=True)
        elif program := shutil.which(self.command[0]):
            Path(program).read_bytes()

    def process(self, directory: Path) -> ManagedProcess:
        folder = self.folder or directory
        values = {
            "kubeconfig": str(self.kubeconfig),
            "configuration": str(folder / CONFIGURATION),
            "directory": str(folder),
            "port": str(free_port(set())),
        }
        command = [_FIELD.sub(lambda found: values[found[1]], part) for part in self.command]
        return ManagedProcess(self.name, command, directory / f"{self.name}.log", {**os.environ, **self.variables})


def ours(variables: Mapping[str, str]) -> Contender:
    """This scheduler, as a cluster runs it: logged in as in a pod, and compiled, as pip leaves what it installs; a
    checkout may not be."""
    compileall.compile_dir(Path(__file__).parents[1], quiet=2)
    return Contender(
        "volcano-py",
        "volcano",
        (
            sys.executable,
            "-m",
            "volcano_py",
            "run",
            f"--listen-address={LOOPBACK}:{{port}}",
            "--leader-elect=false",
            f"--kube-api-qps={QPS}",
            f"--kube-api-burst={BURST}",
        ),
        variables=variables,
        rehearsal=(sys.executable, "-c", "import volcano_py.cli.processes.run, volcano_py.daemon.daemon, uvloop"),
    )


def kube_scheduler(kubeconfig: Path, binary: Path, directory: Path) -> Contender:
    """kube-scheduler with its default plugins; it knows no gangs."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": QPS, "burst": BURST},
    }
    path = directory / "kube-scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    command = (str(binary), f"--config={path}", f"--bind-address={LOOPBACK}", "--secure-port={port}")
    return Contender(KUBE_SCHEDULER, "default-scheduler", command, kubeconfig)


def peer(kubeconfig: Path, name: str, command: str, folder: Path | None = None) -> Contender:
    """Any other scheduler for pods with `schedulerName: volcano`, as one shell-like string."""
    return Contender(name, "volcano", tuple(shlex.split(command)), kubeconfig, folder=folder)
