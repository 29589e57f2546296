"""The reference pages that come from code: `python -m volcano_py.observe.reference` writes them.

`--check` writes nothing and fails when a page is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from volcano_py.api.reasons import Rank, Reason
from volcano_py.api.wording import explain, explain_gangs
from volcano_py.api.wording.explain import Ceiling, Shortage
from volcano_py.observe.metrics import CATALOGUE, Definition, MetricKind

DEFAULT_DIRECTORY: Final = Path("docs/reference")
COMMAND: Final = "python -m volcano_py.observe.reference"
_MARK: Final = f"<!-- Made by `{COMMAND}`; edit the definitions, not this page. -->"

_METRICS_INTRODUCTION: Final = """\
Served at `/metrics` on `--listen-address`. A name marked **V** is Volcano's own, with Volcano's labels and units, so
that dashboards and alerts made for Volcano keep working; the others are ours, in base units.

- Amounts of a queue follow the last cycle. A queue that is deleted leaves no series behind, and a replica that does not
  lead shows none.
- Metrics marked *per job* have a series for each job. They are off unless per-job metrics are switched on.
- Volcano's counters whose names do not end in `_total` keep their names and are exposed as `untyped`,
  because the exposition format allows counters no other ending; `rate()` works on them.
- `process_*` and `python_gc_*` are those of the Prometheus client for Python."""
_REASONS_INTRODUCTION: Final = """\
Every PodGroup that does not run has exactly one of these reasons. It opens the message of its condition, of the
conditions of its pods and of their Events, it is the label `reason` of `volcano_pending_pod_groups`, and it is what the
command line and JSON print. The `reason` field of conditions keeps Volcano's own strings.

When several hold, the one to fix first is reported: the order of the sections is the precedence."""

RANK_TITLES: Final[Mapping[Rank, str]] = {
    Rank.MISCONFIGURED: "Misconfigured",
    Rank.NEVER_FITS: "Can never fit",
    Rank.GATED: "Gated",
    Rank.OVER_CEILING: "Over a ceiling",
    Rank.NODES: "Refused by nodes",
    Rank.WAITS_FOR_OTHERS: "Waits for others",
    Rank.WAITS_FOR_VICTIMS: "Waits for victims",
    Rank.NOT_EVALUATED: "Not yet looked at",
}

_CPU: Final = 1000
_GI: Final = 1 << 30

EXAMPLES: Final[Mapping[Reason, str]] = {
    Reason.INVALID_POD: explain.invalid_field(
        "spec.containers[0].resources.requests.cpu", "-1", "a request must not be negative"
    ),
    Reason.INVALID_POD_GROUP: explain.invalid_field("spec.minMember", -1, "write 0 or more"),
    Reason.UNSUPPORTED: explain.unsupported("spec.resourceClaims (dynamic resource allocation)"),
    Reason.POD_GROUP_NOT_FOUND: explain.pod_group_not_found("ml", "train"),
    Reason.QUEUE_NOT_FOUND: explain.queue_not_found("team-x"),
    Reason.INVALID_QUEUE: explain.invalid_queue(
        "team-a", "its parent org does not exist: create it or correct spec.parent"
    ),
    Reason.PLUGIN_ERROR: explain.plugin_failed("my-policy"),
    Reason.NOT_ENOUGH_TASKS: explain_gangs.not_enough_tasks("ml/train", 2, 3),
    Reason.NEVER_FITS: explain.never_fits("cpu", 64 * _CPU, 32 * _CPU, node="n7"),
    Reason.SCHEDULING_GATED: explain.scheduling_gated(["example.com/quota"]),
    Reason.VOLUME_NOT_READY: "PersistentVolumeClaim team/data does not exist; create it",
    Reason.QUEUE_CLOSED: explain.queue_closed("team-a", "Closing"),
    Reason.OVER_CAPABILITY: explain.over_ceiling(
        "team-a",
        "memory",
        allocated=48 * _GI,
        inqueue=8 * _GI,
        asked=16 * _GI,
        ceiling=64 * _GI,
        kind=Ceiling.CAPABILITY,
        holder="ml/train-1 holds 40Gi",
    ),
    Reason.OVER_DESERVED: explain.over_ceiling(
        "team-a", "cpu", allocated=12 * _CPU, asked=8 * _CPU, ceiling=16 * _CPU, kind=Ceiling.DESERVED
    ),
    Reason.PROMISE_LAPSED: explain.promise_lapsed(60),
    Reason.CLUSTER_OVERCOMMITTED: explain.cluster_overcommitted(
        "cpu", used=70 * _CPU, inqueue=20 * _CPU, asked=10 * _CPU, allocatable=80 * _CPU, factor=1.2
    ),
    Reason.OVER_QUOTA: explain.over_quota(
        "ml", "compute", "requests.cpu", resource="cpu", used=12 * _CPU, promised=0, asked=8 * _CPU, hard=16 * _CPU
    ),
    Reason.REFUSED_BY_PLUGIN: explain.refused_by_plugin("night-shift", "jobs of namespace ml start after 20:00 only"),
    Reason.NODES_REFUSE: explain.nodes_refuse(
        3,
        {explain.insufficient_reason("cpu"): 2, explain.untolerated_taint("dedicated", "ml"): 1},
        [Shortage("cpu", 8 * _CPU, 3500, "n1", others_refuse=True)],
        ["Not tolerated: dedicated=ml:NoSchedule (1 node); add a toleration, or remove the taint"],
    ),
    Reason.PLACES_HELD: explain.nodes_refuse(
        3,
        {
            explain.insufficient_reason("cpu"): 1,
            explain.held_for("ml/train", "which is to start by 2026-11-24 12:30 UTC"): 2,
        },
    ),
    Reason.GANG_INCOMPLETE: explain.gang_incomplete(2, 3, 3),
    Reason.WAITING_FOR_RELEASE: explain_gangs.waiting_for_release(
        ["n1"], explain_gangs.Leavers(["batch/old-0", "batch/old-1"], ["batch/old"], ["team-b"]), held_for=60.0
    ),
    Reason.NOT_YET_EVALUATED: explain.not_yet_evaluated(),
}
"""One message of each reason, made by the function that makes the real ones."""


def metrics_page() -> str:
    """docs/reference/metrics.md."""
    lines = [_MARK, "# Metrics", "", _METRICS_INTRODUCTION]
    for section in CATALOGUE:
        lines += ["", f"## {section.title}", "", "| Metric | Type | Labels | Meaning |", "|---|---|---|---|"]
        lines += [_metric_row(definition) for definition in section.definitions]
    return "\n".join([*lines, *_bucket_lines()]) + "\n"


def reasons_page() -> str:
    """docs/reference/reasons.md."""
    lines = [_MARK, "# Reasons", "", _REASONS_INTRODUCTION]
    for rank in Rank:
        lines += ["", f"## {rank.value + 1}. {RANK_TITLES[rank]}"]
        for reason in (reason for reason in Reason if reason.rank is rank):
            message = explain.message(reason, EXAMPLES[reason])
            lines += ["", f"### {reason.value}", "", reason.text, "", "```text", message, "```"]
    return "\n".join(lines) + "\n"


PAGES: Final = {"metrics.md": metrics_page, "reasons.md": reasons_page}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; with `--check` compare them and return 1 when one differs."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Writes the reference pages that come from code.")
    parser.add_argument("--directory", type=Path, default=DEFAULT_DIRECTORY, help="where the pages are (%(default)s)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is out of date")
    options = parser.parse_args(arguments)
    stale = [name for name, page in PAGES.items() if _read(options.directory / name) != page()]
    if options.check:
        for name in stale:
            sys.stderr.write(f"{options.directory / name} is out of date: run {COMMAND}\n")
        return 1 if stale else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (options.directory / name).write_text(PAGES[name](), encoding="utf-8")
        sys.stdout.write(f"wrote {options.directory / name}\n")
    return 0


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _metric_row(definition: Definition) -> str:
    name = f"`{definition.name}`" + (" **V**" if definition.is_volcano else "")
    labels = ", ".join(f"`{label}`" for label in definition.labels) or "–"
    kind = "untyped" if definition.kind is MetricKind.UNTYPED else definition.kind.value
    text = definition.text + (" *Per job.*" if definition.is_per_job else "")
    return f"| {name} | {kind} | {labels} | {_escaped(text)} |"


def _bucket_lines() -> list[str]:
    """The upper bounds of all histograms, those that share them together."""
    shared: dict[tuple[float, ...], list[str]] = {}
    for section in CATALOGUE:
        for definition in section.definitions:
            if definition.kind is MetricKind.HISTOGRAM:
                shared.setdefault(definition.buckets, []).append(definition.name)
    lines = ["", "## Buckets", "", "Upper bounds, in the unit of the name.", ""]
    for bounds, names in shared.items():
        listed = ", ".join(f"{bound:g}" for bound in bounds)
        lines.append(f"- {', '.join(f'`{name}`' for name in names)}: {listed}")
    return lines


def _escaped(text: str) -> str:
    """Markdown's own characters as text."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


if __name__ == "__main__":
    sys.exit(main())
