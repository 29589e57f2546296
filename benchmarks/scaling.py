"""How the cycle's cost grows with nodes and with pods: prints decide mode over a range, doubling one at a time.

python benchmarks/scaling.py [--gang 100]
"""

from __future__ import annotations

import argparse
import sys

from volcano_py.bench.decide import run_decide
from volcano_py.bench.workload import Workload
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.scheduler import builtin_registry

NODES = (1_250, 2_500, 5_000, 10_000)
PODS = (2_500, 5_000, 10_000, 20_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gang", type=int, default=100)
    gang = parser.parse_args().gang
    registry = builtin_registry()
    configuration = parse_configuration(default_configuration_text(), registry.catalogue()).config
    if configuration is None:
        sys.exit("the built-in configuration is invalid")
    sizes = [(nodes, PODS[0]) for nodes in NODES] + [(NODES[0], pods) for pods in PODS[1:]]
    sys.stdout.write(f"{'nodes':>7} {'pods':>7} {'seconds':>8} {'pods/s':>8}\n")
    for nodes, pods in sizes:
        run = run_decide(Workload(nodes=nodes, pods=pods, gang=gang), configuration, registry)
        sys.stdout.write(f"{nodes:>7} {pods:>7} {run.seconds:>8.3f} {run.pods_per_second:>8,.0f}\n")


if __name__ == "__main__":
    main()
