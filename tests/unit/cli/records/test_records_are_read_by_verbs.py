"""`replay` and `history` as commands: what they print, and how they exit."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.support.sessions import gang
from tests.unit.record.recording import record_contest, record_night
from volcano_py.api.objects import OwnerReference, PodGroup, metadata_of
from volcano_py.capture.file import read
from volcano_py.cli.main import main
from volcano_py.config import default_configuration_text
from volcano_py.record.segments import segments


@pytest.fixture
def record(tmp_path: Path) -> Path:
    asyncio.run(record_night(tmp_path))
    return tmp_path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def test_a_record_without_a_difference_exits_with_0(record: Path) -> None:
    result = run("replay", record)
    assert result.exit_code == 0, result.output
    assert result.output.endswith("decided again: no difference\n")


ASKING = "extender.urlPrefix: http://extender, extender.predicateVerb: predicate"
ASKING = f"- plugins: [{{name: extender, arguments: {{{ASKING}}}}}]\n"


def test_an_older_record_of_a_scheduler_with_an_extender_says_that_its_answers_are_missing(tmp_path: Path) -> None:
    asyncio.run(record_night(tmp_path, tiers=ASKING))
    [path] = segments(tmp_path)
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text.replace(b',"hasAnswers":true', b"")))
    conf = tmp_path / "other.conf"
    conf.write_text(default_configuration_text() + ASKING)
    for more in ((), ("--with-scheduler-conf", conf)):
        result = run("replay", tmp_path, *more)
        assert result.output.splitlines()[-1].startswith("The record is from a version that did not record answers")


def test_questions_without_a_recorded_answer_are_counted(record: Path) -> None:
    conf = record / "other.conf"
    conf.write_text(default_configuration_text() + ASKING)
    result = run("replay", record, "--with-scheduler-conf", conf)
    expected = "The record has no answer to 3 questions to the extender, in 3 cycles: there, it has no objection."
    assert result.output.splitlines()[-1] == expected
    assert json.loads(run("replay", record, "--with-scheduler-conf", conf, "-o", "json").stdout)["unanswered"] == 3
    assert json.loads(run("replay", record, "-o", "json").stdout)["unanswered"] == 0


def alter(record: Path) -> None:
    """A record as if the first pod had been bound elsewhere."""
    [path] = segments(record)
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text.replace(b'"node":"n1"', b'"node":"n7"')))


def test_a_difference_exits_with_3_and_is_named(record: Path) -> None:
    alter(record)
    result = run("replay", record)
    assert result.exit_code == 3
    first, recorded, decided, *_, last = result.output.splitlines()
    assert first == "cycle 1 of 2026-11-21T09:30:00.000Z: effect 1 differs"
    assert recorded.startswith("  recorded: Bind ")
    assert '"node":"n7"' in recorded
    assert '"node":"n1"' in decided
    assert last.endswith("decided again: 3 differences")


def test_differences_are_printed_for_programs(record: Path) -> None:
    alter(record)
    result = run("replay", record, "-o", "json")
    assert result.exit_code == 3
    difference, *_ = json.loads(result.stdout)["differences"]
    assert (difference["cycle"], difference["effect"]) == (1, 0)


def test_a_folder_without_a_record_exits_with_1(tmp_path: Path) -> None:
    for arguments in (("replay", tmp_path), ("history", "queue", "q", "--record", tmp_path)):
        result = run(*arguments)
        assert result.exit_code == 1
        assert "no record here" in result.output


def test_what_the_record_does_not_have_is_reported(record: Path) -> None:
    result = run("history", "podgroup", "team/unknown", "--record", record)
    assert result.exit_code == 1
    assert "has no podgroup team/unknown" in result.output


REPLICA_SET = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web-5d8f", uid="0d3a", controller=True)


def record_owned(folder: Path, name: str, owner: OwnerReference, cpu: str) -> None:
    """`late` waits for a minute; the PodGroup of this name, with one pod, belongs to `owner`."""
    group, *pods = gang(name, pods=1, cpu=cpu)
    assert isinstance(group, PodGroup)
    owned = replace(group, metadata=replace(group.metadata, owner_references=[owner]))
    asyncio.run(record_night(folder, owned, *pods))


def test_generated_pod_groups_are_compared_by_the_names_of_their_owners(tmp_path: Path) -> None:
    record_owned(tmp_path / "record", "podgroup-0d3a", REPLICA_SET, "3")
    other = tmp_path / "other.conf"
    other.write_text('actions: "enqueue"\ntiers:\n- plugins: [{name: gang}]\n', "utf-8")
    compare = ("replay", tmp_path / "record", "--with-scheduler-conf", other)

    printed = run(*compare)
    rows = {line.split("│")[1].strip() for line in printed.output.splitlines() if line.startswith("│")}
    assert "team/web-5d8f (ReplicaSet)" in rows, printed.output
    assert not [name for name in rows if "podgroup-" in name]

    waits = {each["pod_group"]: each for each in json.loads(run(*compare, "-o", "json").stdout)["waits"]}
    assert waits["team/podgroup-0d3a"]["owner"] == "ReplicaSet/web-5d8f"
    assert "owner" not in waits["team/late"]


def test_a_history_says_for_what_a_pod_group_was_created(tmp_path: Path) -> None:
    record_owned(tmp_path, "podgroup-0d3a", REPLICA_SET, "3")
    rows = json.loads(run("history", "podgroup", "team/podgroup-0d3a", "--record", tmp_path, "-o", "json").stdout)
    created = next(each["text"] for each in rows if each["what"] == "created")
    assert created == "queue default, minMember 1, for ReplicaSet web-5d8f"


def test_the_history_of_a_job_is_that_of_its_pod_group(tmp_path: Path) -> None:
    owner = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="train", uid="u", controller=True)
    record_owned(tmp_path, "train-u", owner, "1")
    printed = run("history", "job/team/train", "--record", tmp_path)
    assert printed.exit_code == 0, printed.output
    assert printed.output == run("history", "podgroup", "team/train-u", "--record", tmp_path).output
    missing = run("history", "vcjob", "team/unknown", "--record", tmp_path)
    assert (missing.exit_code, "has no job team/unknown" in missing.output) == (1, True)


def test_a_queue_is_printed_in_quantities(record: Path) -> None:
    result = run("history", "queue/default", "--record", record, "-o", "json")
    assert json.loads(result.stdout)[0]["allocated"] == {"cpu": "3", "pods": "3"}


def test_a_verb_is_asked_about_a_moment(record: Path) -> None:
    result = run("replay", record, "--at", "2", "explain", "podgroup", "late", "--namespace", "team", "-o", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["now"]["reason"] == "NodesRefuse"


def history_at(record: Path, cycle: int, name: str) -> list[str]:
    """What an explanation of the PodGroup at that moment says of the past."""
    result = run("replay", record, "--at", str(cycle), "explain", "podgroup", name, "--namespace", "team", "-o", "json")
    assert result.exit_code == 0, result.output
    return [each["text"] for each in json.loads(result.stdout).get("history", ())]


def test_an_explanation_at_a_moment_has_the_decisions_before_it(record: Path) -> None:
    begun = ["created queue default, minMember 2", "phase Inqueue"]
    assert history_at(record, 2, "late")[:2] == begun
    *_, waits = history_at(record, 3, "late")
    assert waits.startswith("waits NodesRefuse: 1 of 2 pods has a place")
    assert waits not in history_at(record, 2, "late")


def test_an_explanation_says_for_whom_pods_were_evicted_and_by_which_plugins(tmp_path: Path) -> None:
    asyncio.run(record_contest(tmp_path))
    evicted = [text for text in history_at(tmp_path, 4, "sweep") if text.startswith("evicted ")]
    assert len(evicted) == 2
    assert all("makes room for team/train-" in text and "allowed by gang, proportion" in text for text in evicted)


def test_a_running_job_has_its_past_in_the_table_too(record: Path) -> None:
    result = run("replay", record, "--at", "2", "explain", "podgroup", "early", "--namespace", "team")
    assert "bound early-" in result.output.partition("\nHistory\n")[2], result.output


def test_an_explanation_needs_a_record_that_is_there(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: a}}")
    result = run("explain", "podgroup", "a", "--from", file, "--record", tmp_path)
    assert result.exit_code == 1
    assert "no record here" in result.output


def test_the_exit_status_is_that_of_the_verb(record: Path) -> None:
    assert run("replay", record, "--at", "2", "what-if", "--add-nodes", "n1=1").exit_code == 3
    refused = run("replay", record, "--at", "2", "explain", "podgroup", "unknown")
    assert refused.exit_code == 1
    assert "unknown" in refused.output


def test_a_verb_without_a_moment_and_another_verb_are_refused(record: Path) -> None:
    without = run("replay", record, "explain", "podgroup", "late")
    assert without.exit_code == 2
    assert "--at needs --capture, --export or a verb (explain, what-if, simulate, capture)" in without.output
    other = run("replay", record, "--at", "2", "run")
    assert other.exit_code == 2
    assert "run cannot run on a moment of a record; explain, what-if, simulate, capture can" in other.output


def test_another_configuration_is_compared_in_tables(record: Path, tmp_path: Path) -> None:
    conf = tmp_path / "other.conf"
    conf.write_text('actions: "enqueue, backfill"\ntiers:\n- plugins: [{name: gang}]\n')
    result = run("replay", record, "--with-scheduler-conf", conf)
    assert result.exit_code == 0, result.output
    assert "│ team/late  │ 2 bound 2026-11-21T09:31:01Z │ waits: " in result.output
    assert result.output.endswith("3 cycles decided by the other configuration\n")
    as_json = json.loads(run("replay", record, "--with-scheduler-conf", conf, "-o", "json").stdout)
    assert [wait["pod_group"] for wait in as_json["waits"]] == ["team/early", "team/late"]


def test_a_configuration_that_is_invalid_here_makes_no_scenario(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from volcano_py.record import moment

    then = msgspec.structs.replace(moment.capture_at(segments(record), 2), configuration="tiers: 7\n")
    monkeypatch.setattr(moment, "capture_at", lambda *_: then)

    result = run("replay", record, "--at", "2", "--export", tmp_path / "scenario.yaml")

    assert result.exit_code == 1
    assert "Error: the configuration in the record is invalid:\nthe record:1:1: error: " in result.stderr


def test_a_moment_is_handed_on_without_names(record: Path, tmp_path: Path) -> None:
    file = tmp_path / "for-others.capture"
    assert run("replay", record, "--at", "2", "capture", "--anonymize", file).exit_code == 0
    names = {metadata_of(obj).name for _, obj in read(file).items}
    assert len(names) > 5
    assert not names & {"early", "late", "early-0", "n1"}
