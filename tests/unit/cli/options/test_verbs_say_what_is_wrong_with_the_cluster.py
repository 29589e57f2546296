"""What a user reads when there is no cluster, or one that refuses; and how a watch ends."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.support.connections.ports import silent_port
from tests.unit.cli.cluster import SCHEDULING, UserOfCluster
from tests.unit.cluster.fakes import kubeconfig, refusal
from volcano_py.cli.main import main
from volcano_py.cli.options.cluster_access import INTERRUPTED, on_cluster
from volcano_py.cluster.kubernetes.http.client import KubernetesClient

QUEUES = f"{SCHEDULING}/queues"


@pytest.mark.parametrize(
    ("status", "reason", "message", "reported"),
    [
        (
            401,
            "Unauthorized",
            "Unauthorized",
            "the cluster does not accept the login: Unauthorized; log in again, or use another --context",
        ),
        (
            403,
            "Forbidden",
            'User "x" cannot list queues',
            'User "x" cannot list queues; ask the cluster\'s administrator for the right, or use another --context',
        ),
        (500, "InternalError", "etcd is away", "etcd is away"),
        (500, "InternalError", "", f"GET {QUEUES}: 500 InternalError: no explanation given"),
    ],
)
async def test_refusals_are_reported_with_what_to_do(
    user: UserOfCluster, status: int, reason: str, message: str, reported: str
) -> None:
    user.api.on("GET", QUEUES, refusal(status, reason, message))
    assert await user.is_refused("queue", "list") == reported


def test_a_cluster_that_is_down_is_reported(tmp_path: Path) -> None:
    with silent_port() as port:
        path = kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{port}")
        result = CliRunner().invoke(main, ["queue", "list", "--kubeconfig", str(path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: GET {QUEUES}: no answer: cannot connect to 127.0.0.1:{port}")
    assert result.stderr.endswith("; is the cluster up, and the one of your --context?\n")


@pytest.mark.parametrize(
    "verb",
    ["queue list", "queue get -n a", "queue open -n a", "queue close -n a", "queue delete -n a", "queue create -n a",
     "pod list", "podgroup list"],
)  # fmt: skip
def test_a_kubeconfig_that_is_not_there_is_reported(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "none"
    result = CliRunner().invoke(main, [*verb.split(), "--kubeconfig", str(path)])
    assert result.exit_code == 1
    assert result.stderr == f"Error: kubeconfig {path} does not exist: give the path of one with --kubeconfig\n"


def test_an_interrupted_watch_ends_quietly(tmp_path: Path) -> None:
    async def interrupted(_: KubernetesClient) -> None:
        raise KeyboardInterrupt

    with pytest.raises(click.exceptions.Exit) as end:
        on_cluster(kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1"), None, interrupted)
    assert end.value.exit_code == INTERRUPTED == 130
