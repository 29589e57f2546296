"""What GPU clusters are made of, by published traces, each figure with its source.

Figures are shares in percent, rounded, that were counted over all rows of a trace. The sizes of gangs are rows of one.

- **T23**: Alibaba's `cluster-trace-gpu-v2023` (https://github.com/alibaba/clusterdata): 1,523 nodes
  (`openb_node_list_all_node.csv`) and 8,152 pods (`openb_pod_list_default.csv`; the types of GPUs that pods ask for:
  `openb_pod_list_gpuspec33.csv`). Published with Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
- **M21**: 1,000 jobs on Microsoft's ITP clusters of 2021 (`volcano_py/bench/traces/`, with their licence).
- **Ours**: no published figure was found; the comment says what was assumed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Machine:
    """A type of node, `share` percent of all: cores, GiB, and GPUs of one model ("" for none)."""

    share: float
    model: str
    gpus: int
    cpu: int
    memory: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What pods ask for, `share` percent of their kind: cores, GiB and GPUs; of a GPU that is shared, tenths."""

    share: float
    cpu: int
    memory: int
    tenths: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """`share` percent of all pods. `models` and `qualities` are shares within it; a pod without models takes any."""

    share: float
    shapes: tuple[Shape, ...]
    qualities: tuple[tuple[float, str], ...]
    models: tuple[tuple[float, tuple[str, ...]], ...] = ((100, ()),)


LATENCY_SENSITIVE: Final = "latency-sensitive"
BURSTABLE: Final = "burstable"
BEST_EFFORT: Final = "best-effort"

# T23. Types of less than 1 % are counted with the most alike.
MACHINES: Final = (
    Machine(36.0, "G2", 8, 96, 384),
    Machine(25.4, "T4", 2, 104, 512),
    Machine(10.0, "", 0, 32, 256),
    Machine(7.1, "P100", 2, 16, 120),
    Machine(5.2, "", 0, 96, 512),
    Machine(2.8, "", 0, 64, 512),
    Machine(2.7, "G3", 8, 128, 768),
    Machine(2.0, "", 0, 96, 384),
    Machine(1.9, "V100M16", 4, 32, 128),
    Machine(1.5, "P100", 2, 64, 256),
    Machine(1.4, "V100M32", 8, 96, 768),
    Machine(1.2, "V100M16", 1, 8, 32),
    Machine(1.1, "T4", 4, 96, 384),
    Machine(0.6, "V100M32", 4, 48, 368),
    Machine(0.5, "V100M16", 8, 64, 256),
)

_V100: Final = ("V100M16", "V100M32")

# T23: requests to the nearest usual number of cores and GiB, types of GPUs as they are listed.
WITHOUT_GPU: Final = Kind(
    13.4,
    (
        Shape(34.5, 12, 48),
        Shape(26.1, 32, 48),
        Shape(19.8, 16, 48),
        Shape(15.4, 8, 32),
        Shape(1.2, 8, 16),
        Shape(0.9, 16, 32),
    ),
    ((58.5, LATENCY_SENSITIVE), (41.5, BEST_EFFORT)),
)
ONE_GPU: Final = Kind(
    48.0,
    (
        Shape(39.9, 12, 48, 10),
        Shape(12.0, 4, 6, 10),
        Shape(7.5, 16, 64, 10),
        Shape(6.5, 20, 64, 10),
        Shape(5.1, 10, 48, 10),
        Shape(4.1, 12, 24, 10),
        Shape(3.7, 12, 16, 10),
        Shape(3.0, 12, 80, 10),
        Shape(2.8, 16, 32, 10),
        Shape(2.7, 8, 16, 10),
        Shape(2.7, 4, 24, 10),
        Shape(2.5, 8, 32, 10),
        Shape(2.1, 24, 96, 10),
        Shape(1.2, 16, 80, 10),
        Shape(1.2, 4, 32, 10),
    ),
    ((82.0, LATENCY_SENSITIVE), (16.1, BEST_EFFORT), (1.9, BURSTABLE)),
    (
        (62.3, ()),
        (17.8, ("T4",)),
        (8.2, ("G2",)),
        (3.5, _V100),
        (2.6, ("P100", *_V100)),
        (2.0, ("G3",)),
        (0.8, ("P100", "T4", *_V100)),
        (0.7, ("G2", "P100", "T4", *_V100)),
        (0.6, ("A10", "G2", "T4", *_V100)),
    ),
)
SEVERAL_GPUS: Final = Kind(
    0.9,
    (
        Shape(30.7, 88, 320, 80),
        Shape(28.0, 64, 256, 80),
        Shape(16.0, 32, 128, 40),
        Shape(9.3, 16, 64, 20),
        Shape(4.0, 6, 64, 20),
        Shape(4.0, 32, 128, 20),
        Shape(4.0, 64, 320, 40),
    ),
    ((69.3, LATENCY_SENSITIVE), (30.7, BURSTABLE)),
    ((62.7, ()), (13.3, ("G2",)), (8.0, ("G3",)), (5.3, _V100)),
)

# T23: what those ask for that share a GPU, without the share itself.
_SHARING: Final = (
    Shape(36.5, 4, 6),
    Shape(20.3, 12, 48),
    Shape(15.8, 8, 32),
    Shape(6.1, 4, 24),
    Shape(5.9, 4, 16),
    Shape(4.9, 4, 12),
    Shape(4.4, 4, 32),
    Shape(1.7, 6, 6),
    Shape(1.1, 6, 24),
)
# T23: tenths of the GPU, by `gpu_milli`.
_TENTHS: Final = ((35.0, 8), (29.1, 5), (13.0, 6), (11.0, 3), (9.0, 2), (1.8, 4), (1.0, 1))
# Ours: that a pod's share of the GPU has nothing to do with its cores and memory.
PART_OF_GPU: Final = Kind(
    37.8,
    tuple(
        Shape(shape.share * share / 100, shape.cpu, shape.memory, tenths)
        for shape in _SHARING
        for share, tenths in _TENTHS
    ),
    ((24.7, LATENCY_SENSITIVE), (75.3, BEST_EFFORT)),
    ((71.3, ()), (19.2, ("T4",)), (9.0, ("P100",))),
)

KINDS: Final = (WITHOUT_GPU, PART_OF_GPU, ONE_GPU, SEVERAL_GPUS)

_JOBS: Final = Path(__file__).parents[1] / "traces" / "itp-jobs.csv"


def gang_sizes() -> tuple[int, ...]:
    """M21: how many GPUs each job asked for, in the order in which the jobs were submitted. Ours: that a job has a pod
    for each, and that all pods of a gang are alike."""
    with _JOBS.open(encoding="utf-8", newline="") as rows:
        return tuple(int(row["num_gpu"]) for row in csv.DictReader(rows))


# Ours: no trace has spreads. Services are usually spread over zones, as far as that goes.
SPREAD: Final = (LATENCY_SENSITIVE, range(2, 17))
"""Quality of the pods that are spread over zones, and the sizes of their gangs."""
