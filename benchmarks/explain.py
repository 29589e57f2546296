"""What an explanation of a waiting job takes: `python -m benchmarks.explain [NODES PODS]`, 2,000 and 10,000 by default.

A tenth of the pods wait, in gangs of five that no node has room for. Times are CPU seconds of this process, from the
bytes of a capture to the answer; the lines say what is different from the first one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from volcano_py.api.objects import ApiObject, Pod
from volcano_py.bench.loads import objects
from volcano_py.capture import file
from volcano_py.capture.model import Capture
from volcano_py.capture.start import configuration_of, rules_of
from volcano_py.cluster.manifests import EPOCH
from volcano_py.config import default_configuration_text
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.world import World
from volcano_py.scheduler import builtin_registry

GANG: Final = 5
EVICTING: Final = default_configuration_text().replace("allocate, backfill", "allocate, preempt, reclaim, backfill")


def cluster(nodes: int, pods: int, *, runs_for: int = 0) -> Iterator[ApiObject]:
    """Nodes of 8 CPUs; 9 of 10 gangs run, with 1 CPU a pod, up to `runs_for` seconds (0: they do not say)."""
    for number in range(nodes):
        yield objects.node(f"n{number}", {"cpu": "8", "memory": "64Gi", "pods": "110"})
    gangs = pods // GANG
    for number in range(gangs):
        runs, name = number < gangs * 9 // 10, f"j{number}"
        yield objects.group(name, GANG, "default", phase="Running" if runs else "Pending")
        for member in range(GANG):
            on = f"n{(number * GANG + member) % nodes}" if runs else ""
            pod = objects.pod(name, member, {"cpu": "1" if runs else "6"}, on=on)
            yield _running(pod, number + 60 if runs_for else None) if runs else pod


def _running(pod: Pod, deadline: int | None) -> Pod:
    spec, status = replace(pod.spec, active_deadline_seconds=deadline), replace(pod.status, start_time=EPOCH)
    return replace(pod, spec=spec, status=status)


def measured(nodes: int, pods: int, conf: str, *, runs_for: int = 0) -> tuple[float, str]:
    """Seconds, and what the explanation is about."""
    items = tuple((type(obj).__name__, obj) for obj in cluster(nodes, pods, runs_for=runs_for))
    content = file.written(Capture(taken=(EPOCH + timedelta(seconds=9)).timestamp(), items=items, configuration=conf))
    registry = builtin_registry()
    begun = time.process_time()
    capture = file.of_bytes(content, "the capture")
    world = World(
        capture.items, configuration_of(capture, registry), registry, rules=rules_of(capture), live=capture.taken
    )
    explained = explain_workload(world, "podgroup", f"{objects.NAMESPACE}/j{pods // GANG - 1}")
    seconds = time.process_time() - begun
    start = explained.forecast.at or "none" if explained.forecast is not None else ""
    return seconds, f"{explained.now.reason}, {len(explained.remedies)} remedies, forecast {start}"


def main() -> None:
    collect_seldom()  # as the command does
    nodes, pods = (int(each) for each in sys.argv[1:3]) if len(sys.argv) > 2 else (2_000, 10_000)
    cases = {
        "default configuration": (default_configuration_text(), 0),
        "with preempt and reclaim": (EVICTING, 0),
        "all runtimes declared": (default_configuration_text(), 3600),
    }
    for title, (conf, runs_for) in cases.items():
        seconds, about = measured(nodes, pods, conf, runs_for=runs_for)
        sys.stdout.write(f"{seconds:6.2f} s  {nodes} nodes, {pods} pods, {title}: {about}\n")


if __name__ == "__main__":
    main()
