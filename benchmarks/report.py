"""Puts the results into docs/performance.md: `python -m benchmarks.report`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson

from benchmarks.measure import COMMANDS, RESULTS

PAGE: Final = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN: Final = "<!-- begin: python -m benchmarks.report -->\n"
END: Final = "<!-- end -->\n"

_TITLES: Final = {
    "backlog": "A backlog of 5,000 pods in gangs of 100, 1,000 nodes",
    "arrival": "200 pods a second in gangs of 100, 1,000 nodes",
    "bare": "5,000 pods without PodGroups, 1,000 nodes",
    "restart": "Start with 10,000 bound pods, 1,000 pending, 1,000 nodes",
    "rest": "At rest: 10,000 bound pods, 2,000 nodes",
}
_DECISIONS: Final = {
    "decide": "5,000 nodes, 10,000 pods in gangs of 100",
    "decide-largest": "10,000 nodes, 100,000 pods in gangs of 100",
    "decide-classes": "5,000 nodes, 10,000 pods of 500 classes",
    "decide-strategy": "5,000 nodes, 10,000 pods, resource-strategy-fit with retention",
    "decide-apart": "5,000 nodes, 10,000 pods, no two of a job on one node",
    "decide-zones": "5,000 nodes, 10,000 pods, each job spread over 10 zones",
    "decide-wishes": "5,000 nodes, 10,000 pods, each job spread over zones and nodes as far as that goes",
    "decide-topology": "5,000 nodes (unless said) in three tiers of HyperNodes, 10,000 pods in gangs of 64",
    "decide-trees": "1,000 queues in a tree, 20,000 jobs of one pod",
    "decide-preemption": "1,000 full nodes (unless said) of 10 pods, 500 waiting pods",
    "decide-reclaim": "1,000 full nodes (unless said) of 10 pods, 500 waiting pods of another queue",
}


def report() -> str:
    """What stands between the marks of the page."""
    return "\n".join([*_where(), *_at_the_api_server(), *_tenants(), *_decisions(), *_growth()])


def _result(name: str) -> dict[str, Any]:
    result: dict[str, Any] = orjson.loads((RESULTS / f"{name}.json").read_bytes())
    return result


def _where() -> Iterable[str]:
    results = [_result(name) for name in COMMANDS]
    machine = results[0]["machine"]
    days = sorted({result["date"] for result in results})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    yield (
        f"Measured on {when} on {machine['cores']} cores ({machine['processor']}) with "
        f"{machine['memory_gib']} GiB, which the API server, etcd, the load and the scheduler share; "
        f"Kubernetes {machine['kubernetes']}, etcd {machine['etcd']}, Python {machine['python']}.\n"
    )


def _at_the_api_server() -> Iterable[str]:
    for name, title in _TITLES.items():
        result = _result(name)
        yield f"### {title}\n\n`{result['command']}`\n"
        if result["ceiling_pods_per_second"]:
            yield f"Ceiling, bare bindings: {result['ceiling_pods_per_second']:,.0f} pods/s.\n"
        notes = [key for key in result["runs"][0] if key not in _FIELDS]
        yield _table(
            ["Scheduler", *_headings(result), *(key.replace("_", " ") for key in notes), "CPU s", "RSS MiB"],
            [
                [
                    _NAMES.get(run["scheduler"], run["scheduler"]),
                    *_throughput(run, result),
                    *(_note(run[key]) for key in notes),
                    *_costs(run),
                ]
                for run in _middle_runs(result["runs"])
            ],
        )
        yield from _times_as_fast(result)


def _middle_runs(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The run of median speed, for each scheduler."""
    return [sorted(each, key=itemgetter("pods_per_second"))[len(each) // 2] for each in _by_scheduler(runs).values()]


def _by_scheduler(runs: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        found.setdefault(run["scheduler"], []).append(run)
    return found


def _times_as_fast(result: dict[str, Any]) -> Iterable[str]:
    """How the schedulers compare, where that was measured several times."""
    if "--runs" in result["command"]:
        yield "The table shows the median runs. How many times as fast as kube-scheduler each one was, run by run:\n"
        for name, times in result["times_as_fast_as_kube_scheduler"].items():
            each = ", ".join(f"{time:.2f}" for time in times)
            yield f"- {_NAMES.get(name, name)}: {each}; median {median(times):.2f}"
        yield ""


# The only peer among the commands.
_NAMES: Final = {"peer": "[only binds](../benchmarks/only_binds.py)"}
_FIELDS: Final = (
    "scheduler",
    "pods",
    "seconds",
    "pods_per_second",
    "p50_seconds",
    "p99_seconds",
    "cpu_seconds",
    "peak_rss_bytes",
)


def _headings(result: dict[str, Any]) -> list[str]:
    if not result["runs"][0]["seconds"]:
        return []
    return ["Pods/s", *(["Of ceiling"] if result["ceiling_pods_per_second"] else []), "p50 s", "p99 s"]


def _throughput(run: dict[str, Any], result: dict[str, Any]) -> list[str]:
    if not run["seconds"]:
        return []
    ceiling = result["ceiling_pods_per_second"]
    share = [f"{100 * run['pods_per_second'] / ceiling:.0f} %"] if ceiling else []
    return [f"{run['pods_per_second']:,.0f}", *share, f"{run['p50_seconds']:.3f}", f"{run['p99_seconds']:.3f}"]


def _note(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def _costs(run: dict[str, Any]) -> list[str]:
    return [f"{run['cpu_seconds']:.1f}", f"{run['peak_rss_bytes'] / 2**20:.0f}"]


def _tenants() -> Iterable[str]:
    result = _result("tenants")
    attacks = result["attacks"]
    yield f"### Others, while one tenant attacks\n\n`{result['command']}`\n"
    yield (
        "Median, 90th percentile and longest wait in seconds, and ratios of the 90th percentiles. The Lease was lost "
        f"{sum(attack['lease_transitions'] for attack in attacks)} times.\n"
    )
    for probe, what in (("pods", "Pods"), ("job", "Jobs")):
        yield f"{what}:\n"
        headings = ["Attack", "Before", "During", "× before", "× control", "Steady", "After"]
        yield _table(headings, [_waits(attack, probe) for attack in attacks])
    parts = ("write_p90_seconds", "news_p90_seconds", "rest_p90_seconds")
    yield "Write / watch / rest, 90th percentiles, and edits that the API server made in the steady state:\n"
    yield _table(
        ["Attack", "During", "Steady", "Steady after s", "Edits/s"],
        [
            [
                f"`{attack['attack']}`",
                *(" / ".join(f"{attack[phase][part]:.2f}" for part in parts) for phase in ("during", "steady")),
                f"{attack['settling_seconds']:.0f}",
                f"{attack['edits_per_second']:.0f}",
            ]
            for attack in attacks
        ],
    )


def _waits(attack: dict[str, Any], probe: str) -> list[str]:
    before, during, steady, after = (
        " / ".join(f"{attack[phase][probe][figure]:.2f}" for figure in ("p50_seconds", "p90_seconds", "worst_seconds"))
        for phase in ("before", "during", "steady", "after")
    )
    times = [f"{attack[key][probe]:.1f}" for key in ("times_as_long", "times_as_long_as_control")]
    return [f"`{attack['attack']}`", before, during, *times, steady, after]


def _decisions() -> Iterable[str]:
    yield "### Decisions alone, in memory\n\nWith `--runs`, the fastest run is shown.\n"
    rows = []
    for name, title in _DECISIONS.items():
        result = _result(name)
        for scheduler, runs in _by_scheduler(result["runs"]).items():
            what = title if scheduler == "volcano-py" else f"{title}: {scheduler}"
            fastest = min(run["seconds"] for run in runs)
            rows.append([what, f"`{result['command'].partition('decide ')[2]}`", f"{fastest:.2f}"])
    yield _table(["What", "`volcano-py bench --mode=decide …`", "Seconds"], rows)


def _growth() -> Iterable[str]:
    result = _result("decide-sizes")
    yield f"### Growth\n\n`{result['command']}`\n"
    yield _table(["Nodes × pods", "Seconds"], [[run["scheduler"], f"{run['seconds']:.2f}"] for run in result["runs"]])


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [
        "| " + " | ".join(headings) + " |",
        "|" + "|".join(" --- " if not n else " ---: " for n in _numbers(headings)) + "|",
    ]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _numbers(headings: Sequence[str]) -> list[bool]:
    """Whether a column has numbers: none has words but the first, and commands."""
    return [place > 0 and not heading.startswith("`") for place, heading in enumerate(headings)]


def page(text: str) -> str:
    """The page with the results of today in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + report() + END + after


if __name__ == "__main__":
    assert COMMANDS.keys() == {*_TITLES, "tenants", *_DECISIONS, "decide-sizes"}
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
