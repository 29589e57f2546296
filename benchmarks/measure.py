"""Runs what docs/performance.md shows and keeps the results: `python -m benchmarks.measure [NAME…]`.

Leave the machine alone meanwhile; all takes about an hour. `python -m benchmarks.report` then renews the page.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from volcano_py.local.binaries.recipes import ETCD_VERSION, KUBERNETES_VERSION

RESULTS: Final = Path(__file__).parent / "results"

_LARGE: Final = ("--nodes=5000", "--pods=10000")
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "backlog": ("--load=backlog", "--runs=5", "--peer=python -m benchmarks.only_binds {kubeconfig}"),
    "arrival": ("--load=arrival", "--rate=200", "--pods=4000"),
    "bare": ("--load=bare", "--no-kube-scheduler"),
    "restart": ("--load=restart",),
    "rest": ("--load=rest", "--nodes=2000"),
    "tenants": ("--load=tenants", "--seconds=8"),
    "decide": ("--mode=decide", *_LARGE, "--runs=3"),
    "decide-largest": ("--mode=decide", "--nodes=10000", "--pods=100000"),
    "decide-sizes": ("--mode=decide", "--load=sizes", "--nodes=1250", "--pods=10000"),
    "decide-classes": ("--mode=decide", "--load=classes", *_LARGE),
    "decide-strategy": ("--mode=decide", "--load=strategy", *_LARGE),
    "decide-apart": ("--mode=decide", "--load=apart", *_LARGE),
    "decide-zones": ("--mode=decide", "--load=zones", *_LARGE),
    "decide-wishes": ("--mode=decide", "--load=wishes", *_LARGE),
    "decide-topology": ("--mode=decide", "--load=topology", *_LARGE, "--runs=3"),
    "decide-trees": ("--mode=decide", "--load=trees"),
    "decide-preemption": ("--mode=decide", "--load=preemption"),
    "decide-reclaim": ("--mode=decide", "--load=reclaim"),
}
"""Name of the result → arguments of `volcano-py bench`."""


def main(names: list[str]) -> None:
    for name in names or COMMANDS:
        arguments = COMMANDS[name]
        sys.stdout.write(f"{name}: {shown(name)}\n")
        sys.stdout.flush()
        ours = [argument.replace("=python ", f"={shlex.quote(sys.executable)} ") for argument in arguments]
        command = (sys.executable, "-m", "volcano_py", "bench", *ours, "--output=json")
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        result = {
            "command": shown(name),
            "date": datetime.now(UTC).date().isoformat(),
            "machine": machine(),
            **orjson.loads(answer),
        }
        (RESULTS / f"{name}.json").write_bytes(orjson.dumps(result, option=orjson.OPT_INDENT_2) + b"\n")


def shown(name: str) -> str:
    """The command as one would type it."""
    return shlex.join(("volcano-py", "bench", *COMMANDS[name]))


def machine() -> dict[str, Any]:
    """Where this runs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "processor": _processor(),
        "python": platform.python_version(),
        "kubernetes": KUBERNETES_VERSION,
        "etcd": ETCD_VERSION,
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    main(sys.argv[1:])
