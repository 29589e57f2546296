"""`volcano-py up`: what it makes of its options, and how it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click.testing
import pytest

from volcano_py.cli.main import main
from volcano_py.cli.processes import up as up_module
from volcano_py.cli.processes.local_cluster import LocalCluster, NotSettledError, Plan
from volcano_py.cli.processes.settling import SAMPLE, lacks, sample_lacks
from volcano_py.cluster.manifests import read_paths
from volcano_py.local.errors import BinaryUnavailableError, LocalError

Up = Callable[..., click.testing.Result]


class Stage:
    """Stands in for the cluster: remembers its plan, and ends as the test says."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.end: Exception | None = None
        self.interrupted_by: signal.Signals | None = None
        self.shown = True

    def run(self, cluster: LocalCluster, plan: Plan) -> None:
        self.plan = plan
        cluster.shown = self.shown
        cluster.signal = self.interrupted_by
        if self.interrupted_by is not None:
            raise asyncio.CancelledError
        if self.end is not None:
            raise self.end


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage()

    async def run(cluster: LocalCluster) -> None:
        made.run(cluster, cluster._plan)

    monkeypatch.setattr(LocalCluster, "run", run)
    monkeypatch.setattr(up_module, "ensure_binaries", lambda *_, **__: {})
    return made


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What the verb does to signals is not for the tests."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def up() -> Up:
    def run(*arguments: Any, stdin: str | None = None) -> click.testing.Result:
        return click.testing.CliRunner().invoke(main, ["up", *map(str, arguments)], input=stdin)

    return run


def plan_of(stage: Stage) -> Plan:
    assert stage.plan is not None
    return stage.plan


def test_by_default_it_is_the_sample_and_it_stays_up(stage: Stage, up: Up) -> None:
    result = up()
    assert (result.exit_code, result.output) == (0, "Nothing is left running.\n")
    plan = plan_of(stage)
    assert list(plan.documents) == [document.body for document in read_paths([SAMPLE])]
    assert (plan.goal, plan.extra_nodes, plan.scheduler_arguments, plan.work_dir) == (None, 0, (), None)


def test_a_network_comes_before_the_other_objects(stage: Stage, up: Up) -> None:
    assert up("--topology", "1x2x3", "--no-sample").exit_code == 0
    kinds = [document["kind"] for document in plan_of(stage).documents]
    assert [kinds.count("Node"), kinds.count("HyperNode"), len(kinds)] == [6, 3, 9]
    assert up("--topology", "1X2X3").exit_code == 0
    assert len(plan_of(stage).documents) == 9 + len(read_paths([SAMPLE]))


def test_once_waits_for_what_the_sample_is_to_become(stage: Stage, up: Up) -> None:
    result = up("--once", "--timeout", "90")
    assert (result.exit_code, result.output) == (0, "Settled. Nothing is left running.\n")
    goal = plan_of(stage).goal
    assert goal is not None
    assert (goal.lacks, goal.calm, goal.timeout) == (sample_lacks, 0, 90)


def test_once_waits_until_anything_else_is_calm(stage: Stage, up: Up, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod\nmetadata: {name: a}\n")
    assert up("--once", "-f", tmp_path, "-f", "-", stdin="kind: Pod\nmetadata: {name: b}\n").exit_code == 0
    plan = plan_of(stage)
    assert [document["metadata"]["name"] for document in plan.documents] == ["a", "b"]
    assert plan.goal is not None
    assert plan.goal.lacks is lacks
    assert plan.goal.calm > 0


def test_without_the_sample_nothing_is_created(stage: Stage, up: Up) -> None:
    assert up("--no-sample", "--nodes", "7").exit_code == 0
    assert (plan_of(stage).documents, plan_of(stage).extra_nodes) == ((), 7)


def test_webhooks_are_there_when_asked_for(stage: Stage, up: Up) -> None:
    assert up().exit_code == 0
    assert not plan_of(stage).admission
    assert up("--admission").exit_code == 0
    assert plan_of(stage).admission


CONFIGURATION = "actions: allocate\ntiers: []\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CONFIGURATION, id="bare"),
        pytest.param(
            "kind: ConfigMap\ndata:\n  volcano-scheduler.conf: |\n    actions: allocate\n    tiers: []\n",
            id="in a ConfigMap",
        ),
    ],
)
def test_the_text_of_the_configuration_file_is_for_the_clusters_config_map(
    text: str, stage: Stage, up: Up, tmp_path: Path
) -> None:
    """There the daemon finds it, and so do explain, the page and `queue tree`."""
    conf = tmp_path / "conf.yaml"
    conf.write_text(text)
    assert up("--scheduler-conf", conf).exit_code == 0
    assert (plan_of(stage).configuration, plan_of(stage).scheduler_arguments) == (CONFIGURATION, ())
    assert up().exit_code == 0
    assert plan_of(stage).configuration is None


def test_an_invalid_configuration_is_reported_before_anything_starts(stage: Stage, up: Up, tmp_path: Path) -> None:
    conf = tmp_path / "conf.yaml"
    conf.write_text("actions: dance\n")
    result = up("--scheduler-conf", conf)
    assert result.exit_code == 1
    assert 'unknown action "dance"' in result.output
    assert stage.plan is None


def test_a_manifest_that_is_not_there_is_reported_before_anything_starts(stage: Stage, up: Up) -> None:
    result = up("-f", "/no/such/file")
    assert (result.exit_code, result.output) == (1, "Error: /no/such/file: no such file or folder\n")
    assert stage.plan is None


def test_without_binaries_the_way_without_a_cluster_is_named(
    stage: Stage, up: Up, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object, **__: object) -> None:
        raise BinaryUnavailableError("etcd", "not in the cache, and there is no network.")

    monkeypatch.setattr(up_module, "ensure_binaries", unavailable)
    result = up("--once")
    assert result.exit_code == 1
    assert result.output.startswith("Error: etcd: not in the cache, and there is no network.\n")
    assert "`volcano-py simulate --filename " in result.output
    assert stage.plan is None


def test_a_build_that_is_interrupted_ends_without_a_word(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(up_module, "ensure_binaries", interrupted)
    result = up()
    assert (result.exit_code, result.output) == (128 + signal.SIGINT, "")


def test_ctrl_c_is_how_it_is_meant_to_end(stage: Stage, up: Up) -> None:
    stage.interrupted_by = signal.SIGINT
    result = up()
    assert (result.exit_code, result.output) == (0, "Nothing is left running.\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_before_it_has_settled_it_has_not_done_what_it_was_asked(
    stage: Stage, up: Up, number: signal.Signals
) -> None:
    stage.interrupted_by = number
    assert up("--once").exit_code == 128 + number


def test_interrupted_before_anything_was_shown_it_has_not_either(stage: Stage, up: Up) -> None:
    stage.interrupted_by, stage.shown = signal.SIGINT, False
    assert up().exit_code == 130


def test_what_does_not_settle_is_an_error_with_the_reason_and_the_end_of_the_log(stage: Stage, up: Up) -> None:
    log = "10:00:00 info cycle  binds=1"
    stage.end = NotSettledError(f"it has not settled within 120 s:\n  the gang\n--- end of the log ---\n{log}")
    result = up("--once")
    assert result.exit_code == 1
    assert result.output == (
        "Error: it has not settled within 120 s:\n"
        "  the gang\n"
        "--- end of the log ---\n"
        "10:00:00 info cycle  binds=1\n"
        "With --work-dir DIR all logs are kept.\n"
    )


def test_no_advice_about_logs_when_they_are_kept(stage: Stage, up: Up, tmp_path: Path) -> None:
    stage.end = LocalError("etcd died")
    result = up("--work-dir", tmp_path / "kept")
    assert (result.exit_code, result.output) == (1, "Error: etcd died\n")


@pytest.mark.parametrize(
    "wrong",
    [
        ("--timeout", "0"),
        ("--nodes", "-1"),
        ("--nodes", "many"),
        ("--scheduler-conf", "/no"),
        ("--topology", "2x4"),
        ("--topology", "2x4x0"),
        ("--topology", "axbxc"),
        ("--topology", "10x10x101"),
        ("--topology", "1x1001x1"),
        ("--topology", "1x1x99999999999999"),
    ],
)
def test_options_that_make_no_sense_are_refused(stage: Stage, up: Up, wrong: tuple[str, str]) -> None:
    assert up(*wrong).exit_code == 2
    assert stage.plan is None


def test_help_has_examples(up: Up) -> None:
    assert "volcano-py up --once" in up("--help").output


def test_what_follows_two_dashes_are_flags_of_the_scheduler(stage: Stage, up: Up) -> None:
    assert up("--no-sample", "--", "--controllers=none", "--log-level", "debug").exit_code == 0
    assert plan_of(stage).scheduler_arguments == ("--controllers=none", "--log-level", "debug")


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--", "--contrlers=none"], "volcano-py run: No such option '--contrlers'"),
        (["--", "--schedule-period", "soon"], "volcano-py run: Invalid value for '--schedule-period'"),
        (["jobs/"], "jobs/ is not a flag; only flags of the scheduler come after --"),
        (["--", "--kubeconfig=other"], "volcano-py up sets --kubeconfig itself; leave it out"),
    ],
)
def test_wrong_flags_of_the_scheduler_end_it_before_anything_starts(
    flags: list[str], problem: str, stage: Stage, up: Up
) -> None:
    result = up(*flags)
    assert result.exit_code == 2
    assert problem in " ".join(result.output.split())
    assert stage.plan is None
