"""What `volcano-py job run` makes of its options, and what it refuses before it asks a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from volcano_py.cli.jobs.making import DEFAULT_RESOURCES, Wanted, job_of, jobs_of
from volcano_py.cli.jobs.rows import HEADER, event_rows, job_row
from volcano_py.cli.main import main
from volcano_py.cli.options.manifests import CannotMakeError
from volcano_py.cluster.manifests import read_text

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def resources(**wanted: Any) -> tuple[dict[str, str], dict[str, str]]:
    """Requests and limits of the pods."""
    made = job_of(Wanted("train", **wanted), "ns")
    (container,) = made["spec"]["tasks"][0]["template"]["spec"]["containers"]
    return container["resources"]["requests"], container["resources"]["limits"]


def test_requests_and_limits_stand_in_for_each_other() -> None:
    """A limit that is not given must not be below the request that is."""
    assert resources() == (DEFAULT_RESOURCES, DEFAULT_RESOURCES)
    assert resources(requests={"cpu": "2"}) == ({"cpu": "2"}, {"cpu": "2"})
    assert resources(limits={"cpu": "500m"}) == ({"cpu": "500m"}, {"cpu": "500m"})
    assert resources(requests={"cpu": "2"}, limits={"memory": "1Gi"}) == ({"cpu": "2"}, {"memory": "1Gi"})


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            Wanted("train", min_available=3, replicas=2),
            "--min 3 is more than --replicas 2: the job would never start",
        ),
        (
            Wanted("train", requests={"cpu": "2"}, limits={"cpu": "1500m"}),
            "--limits cpu=1500m is below --requests cpu=2",
        ),
    ],
)
def test_a_job_that_could_never_start_is_not_made(wanted: Wanted, message: str) -> None:
    with pytest.raises(CannotMakeError) as error:
        job_of(wanted, "ns")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no Job in what --filename names"),
        (
            "{apiVersion: batch/v1, kind: Job, metadata: {name: a}}",
            (
                "manifest, document 1 (Job a): apiVersion is batch/v1 with kind Job, not batch.volcano.sh/v1alpha1 with"
                " kind Job; use `kubectl apply` for anything but Volcano's Jobs"
            ),
        ),
        (
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job}",
            "manifest, document 1 (Job ?): metadata.name is missing: give the Job a name",
        ),
        (
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: a, namespace: x}}",
            "manifest, document 1 (Job a): metadata.namespace is x, --namespace says ns: leave out one of them",
        ),
    ],
)
def test_a_manifest_of_another_kind_than_job_is_refused(text: str, message: str) -> None:
    with pytest.raises(CannotMakeError) as error:
        jobs_of(read_text(text), "ns", "ns")
    assert str(error.value) == message


@pytest.mark.parametrize("namespace", ["a?b", "7:", "../x"])
def test_a_namespace_that_is_no_name_is_not_put_into_a_path(namespace: str) -> None:
    metadata = f"{{name: a, namespace: '{namespace}'}}"
    text = f"{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {metadata}}}"
    with pytest.raises(CannotMakeError) as error:
        jobs_of(read_text(text), None, "ns")
    assert str(error.value) == (
        f"manifest, document 1 (Job a): metadata.namespace is {namespace!r}, which is not a valid namespace name: use"
        " lower-case letters, digits and '-'"
    )


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["job", *arguments], prog_name="volcano-py")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "name the job, or its manifest with --filename"),
        (["run", "-f", "-", "--min", "2"], "--filename describes the job, and so does --min: use only one of them"),
        (["run", "-N", "x", "-R", "cpu"], "'cpu' is not resource=amount; write for example cpu=4,memory=16Gi"),
        (["run", "-N", "x", "-R", "cpu=1,cpu=2"], "cpu is given twice; give it once"),
        (["run", "-N", "x", "-L", "cpu=-1"], "cpu: -1 is negative; write 0 or more"),
        (["list", "-A", "-n", "x"], "--all-namespaces and --namespace exclude each other: use only one of them"),
        (["view", "--name", "a/b"], "'a/b' is not a valid name: use lower-case letters, digits and '-'"),
        (["list", "-n", "a?b#"], "'a?b#' is not a valid name: use lower-case letters, digits and '-'"),
        (["delete"], "name the job: volcano-py job delete NAME"),
        (["delete", "a", "--name", "b"], "a and --name b both name the job: use only one of them"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_asked(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    result = run("run", "-f", str(missing))
    assert (result.exit_code, result.output) == (1, f"Error: {missing}: no such file or folder\n")


def test_ages_count_from_the_creation_and_from_when_an_event_was_seen_last() -> None:
    born = (NOW - timedelta(hours=5)).isoformat()
    found = {"metadata": {"name": "train", "namespace": "ns", "creationTimestamp": born}}
    row = dict(zip(HEADER, job_row(found, NOW.timestamp()), strict=True))
    assert (row["AGE"], row["QUEUE"], str(row["PHASE"])) == ("5h", "-", "-")

    seen = (NOW - timedelta(seconds=90)).isoformat()
    events: list[dict[str, Any]] = [
        {"reason": "b", "series": {"count": 4, "lastObservedTime": seen}, "metadata": {"creationTimestamp": born}},
        {"reason": "a", "metadata": {"creationTimestamp": born}},
    ]
    assert event_rows(events, NOW.timestamp()) == [("-", "a", "5h", "1", "-"), ("-", "b", "90s", "4", "-")]
