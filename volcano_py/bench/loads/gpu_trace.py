"""What GPU clusters are made of: rows of published traces, with their licences in `volcano_py/bench/traces`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TENTHS: Final = 10
"""Of a GPU, which pods may share."""

_TRACES: Final = Path(__file__).parents[1] / "traces"


@dataclass(frozen=True, slots=True)
class Machine:
    """A node: thousandths of a core, MiB, and GPUs of one model ("" for none)."""

    model: str
    gpus: int
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What a pod asks for: thousandths of a core, MiB and tenths of a GPU. `models` are the GPUs that it may have; none
    means any. `quality` is its quality of service."""

    cpu_milli: int
    memory_mib: int
    tenths: int
    models: tuple[str, ...]
    quality: str


def machines() -> list[Machine]:
    """The nodes of Alibaba's trace, equal ones one after the other."""
    rows = _rows("alibaba-2023/nodes.csv")
    found = (Machine(row["model"], int(row["gpu"]), int(row["cpu_milli"]), int(row["memory_mib"])) for row in rows)
    return sorted(found, key=lambda each: (each.model, each.gpus, each.cpu_milli, each.memory_mib))


def shapes() -> list[Shape]:
    """What pods of Alibaba's trace asked for, in the order in which they were created."""
    return [
        Shape(
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            _tenths(int(row["num_gpu"]), int(row["gpu_milli"])),
            tuple(dict.fromkeys(filter(None, row["gpu_spec"].split("|")))),
            row["qos"],
        )
        for row in _rows("alibaba-2023/pods.csv")
    ]


def gang_sizes() -> list[int]:
    """How many GPUs each job of Microsoft's trace asked for, in the order in which the jobs were submitted."""
    return [int(row["num_gpu"]) for row in _rows("microsoft-2021/jobs.csv")]


def _tenths(gpus: int, milli: int) -> int:
    """Of GPUs that pods share, no less than was asked for."""
    return -(-milli * TENTHS // 1000) if gpus == 1 else gpus * TENTHS


def _rows(path: str) -> list[dict[str, str]]:
    with (_TRACES / path).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))
