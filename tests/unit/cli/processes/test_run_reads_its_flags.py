"""What the flags of `volcano-py run` come to, and what is said of those that make no sense."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

import volcano_py.cli.processes.run as cli
from volcano_py.cli.processes import serving
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
from volcano_py.daemon.options import CONTROLLERS, DaemonOptions

ALL = frozenset(CONTROLLERS)


def options(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> DaemonOptions:
    """The options with which the daemon would have been started."""
    started: list[DaemonOptions] = []
    monkeypatch.setattr(cli, "serve", started.append)
    result = CliRunner().invoke(cli.run, arguments)
    assert result.exit_code == 0, result.output
    return started[0]


def refusal(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.setattr(cli, "serve", lambda _options: pytest.fail("it started"))
    result = CliRunner().invoke(cli.run, arguments)
    assert result.exit_code == 2
    return " ".join(result.output.split())


def test_an_unknown_log_level_is_named_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "'loud' is unknown: use one of debug, info, warning" in refusal(monkeypatch, "--log-level", "loud")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("queue,podgroup", {"queue", "podgroup"}),
        ("-queue", ALL - {"queue"}),
        ("*,-podgroup", ALL - {"podgroup"}),
        ("none", set()),
        # as Volcano's controller-manager calls them
        ("queue-controller, pg-controller", {"queue", "podgroup"}),
        ("*,-pg-controller", ALL - {"podgroup"}),
    ],
)
def test_controllers_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch, text: str, wanted: set[str]) -> None:
    assert options(monkeypatch, f"--controllers={text}").controllers == wanted


def test_an_unknown_controller_is_named_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    said = refusal(monkeypatch, "--controllers=queues")
    assert "unknown controller 'queues'; there are queue, podgroup" in said


def test_a_daemon_that_does_not_schedule_has_a_lease_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options(monkeypatch).lease_name == "volcano"
    assert options(monkeypatch, "--scheduling=false").lease_name == "vc-controller-manager"
    assert options(monkeypatch, "--scheduling=false", "--leader-elect-resource-name=mine").lease_name == "mine"


def test_a_daemon_with_nothing_to_do_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nothing to run: scheduling" in refusal(monkeypatch, "--scheduling=false", "--controllers=none")
    assert options(monkeypatch, "--scheduling=false", "--controllers=none", "--admission").admission.enabled


def test_node_selectors_are_read_with_a_colon_or_an_equals_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    found = options(monkeypatch, "--node-selector=pool:batch", "--node-selector=example.com/pool=gpu")
    assert found.node_selector == (("pool", "batch"), ("example.com/pool", "gpu"))


def test_a_node_selector_without_a_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "'pool' is not a label; write KEY:VALUE" in refusal(monkeypatch, "--node-selector=pool")


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--leader-elect=false"], "election.enabled", False),
        (["--lock-object-namespace=batch"], "election.namespace", "batch"),
        (["--disable-default-scheduler-config"], "strict", True),
        (["--schedule-period=500ms"], "schedule_period", 0.5),
        (["--healthz-address=:11251"], "listen_addresses", (":8080", ":11251")),
        (["--scheduler-name=a", "--scheduler-name=b"], "scheduler_names", ("a", "b")),
    ],
)
def test_flags_of_volcano_mean_what_they_mean_there(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], field: str, value: Any
) -> None:
    found: Any = options(monkeypatch, *arguments)
    for part in field.split("."):
        found = getattr(found, part)
    assert found == value


def test_flags_without_effect_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options(monkeypatch, "--percentage-nodes-to-find=50", "--enable-healthz") == DaemonOptions()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--listen-address=8080"], "Invalid value for --listen-address: listen address '8080' is not HOST:PORT"),
        (["--healthz-address=x"], "Invalid value for --healthz-address: listen address 'x' is not HOST:PORT"),
        (["--kube-api-qps=0"], "'--kube-api-qps': 0.0 is not in the range x>0"),
        (["--kube-api-burst=0"], "'--kube-api-burst': 0 is not in the range x>=1"),
        (["--schedule-period=-1s"], "'--schedule-period': -1s is negative; give 0 or more"),
        (["--resync-period=-1h"], "'--resync-period': -1h is negative; give 0 or more"),
        (
            ["--leader-elect-renew-deadline=15s"],
            "--leader-elect-renew-deadline: 15 s is not below the 15 s of --leader-elect-lease-duration",
        ),
        (
            ["--leader-elect-retry-period=9s"],
            "--leader-elect-retry-period: 9 s, and a fifth more at times, is not below the 10 s of --leader-elect",
        ),
        (["--leader-elect-retry-period=500ms"], "--leader-elect-retry-period: 0.5 s is below 1 s"),
    ],
)
def test_values_with_which_no_daemon_could_run_are_refused_by_their_flag(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    assert said in refusal(monkeypatch, *arguments)


def test_without_an_election_its_durations_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not options(monkeypatch, "--leader-elect=false", "--leader-elect-retry-period=0").election.enabled


@pytest.mark.parametrize("at_once", [1, 64, 300])
async def test_each_binding_under_way_has_a_connection_and_others_have_some(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    asked_for: list[int] = []

    async def connect(*_: object, connections: int, **__: object) -> KubernetesClient:
        asked_for.append(connections)
        raise CredentialsError("none here")

    monkeypatch.setattr(KubernetesClient, "connect", connect)
    with pytest.raises(click.ClickException, match="none here"):
        await serving._serve(DaemonOptions(binds_in_flight=at_once))
    assert asked_for == [at_once + serving.OTHERS_IN_FLIGHT]
