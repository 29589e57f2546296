"""Modules that take long to load, and who does without: a verb of kubectl answers at once, the daemon decides early."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("aiohttp", "cryptography", "kopf", "kubernetes_asyncio", "numpy", "pydantic", "rich", "structlog", "yaml")


def loaded(statement: str) -> set[str]:
    """Which of the slow ones a new process has loaded after this."""
    script = f"import sys\n{statement}\nsys.stdout.write(' '.join(name for name in {SLOW} if name in sys.modules))"
    answer = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True, text=True)
    return set(answer.stdout.split("\n")[-1].split())


def test_help_loads_none_of_them() -> None:
    told = "from volcano_py.cli.main import main\nmain(['--help'], standalone_mode=False)"

    assert loaded(told) == set()


@pytest.mark.parametrize("verb", ["job", "job_flow", "job_template", "pods", "pod_groups", "queue"])
def test_verbs_that_ask_the_cluster_do_without_the_schedulers_own(verb: str) -> None:
    assert loaded(f"import volcano_py.cli.{verb}").isdisjoint({"cryptography", "kopf", "numpy", "pydantic"})


def test_the_client_does_without_them_too() -> None:
    statement = "import volcano_py.cluster.kubernetes.client, volcano_py.cluster.kubernetes.kinds"

    assert loaded(statement).isdisjoint({"cryptography", "kopf", "numpy", "pydantic"})


def test_the_daemon_decides_before_it_loads_kopf_and_certificates() -> None:
    """kopf comes when the first decisions have been made; certificates are for admission webhooks."""
    assert loaded("import volcano_py.daemon.daemon, volcano_py.cli.run").isdisjoint({"cryptography", "kopf"})
