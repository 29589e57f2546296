"""Modules that take long to load, and who does without: a verb of kubectl answers at once, the daemon decides early."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("aiohttp", "cryptography", "kopf", "kubernetes_asyncio", "numpy", "pydantic", "rich", "structlog", "yaml")
OF_THE_SCHEDULER = {"cryptography", "kopf", "numpy", "pydantic"}
ASK_THE_CLUSTER = {
    verb: f"import volcano_py.cli.{verb}"
    for verb in (
        "job",
        "job_flow",
        "job_template",
        "pods.commands",
        "pods.evictions",
        "pod_groups",
        "queue",
    )
}
IN_THIS_ORDER = {
    "client": "import volcano_py.cluster.kubernetes.http.client, volcano_py.cluster.kubernetes.watching.kinds",
    **ASK_THE_CLUSTER,
    "daemon": "import volcano_py.daemon.daemon, volcano_py.cli.processes.run",
}

ROOT = Path(__file__).parents[3]
LATER = (
    "aiohttp.web",  # the server of probes
    "numpy.random",
    "volcano_py.actions.preempt",  # and other actions and plugins that are not configured
    "volcano_py.plugins.capacity",
    "volcano_py.record",
)
FIRST_CYCLE = """
import sys
import volcano_py.daemon.daemon
from tests.support.sessions import NOW, gang, node, queue
from volcano_py.api.effects import Bind
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.scheduler import Scheduler, builtin_registry
from volcano_py.state.cluster_state import ClusterState

state, registry, effects = ClusterState(), builtin_registry().with_installed(), []
for each in (queue("default"), node("n1"), node("n2"), *gang("train", pods=2, min_member=2)):
    state.upsert(type(each).__name__, each)
configuration = parse_configuration(default_configuration_text(), registry.catalogue()).config
Scheduler(registry, effects.extend, seed=1).run_cycle(state.snapshot(NOW.timestamp(), None), configuration)
print(sum(isinstance(effect, Bind) for effect in effects), "placed")
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def loaded(*statements: str) -> list[set[str]]:
    """Which of the slow ones a new process has loaded after each of these."""
    report = f"sys.stdout.write('\\n' + ' '.join(name for name in {SLOW} if name in sys.modules))"
    script = "\n".join(["import sys", *(f"{statement}\n{report}" for statement in statements)])
    answer = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True, text=True)
    return [set(line.split()) for line in answer.stdout.split("\n")[-len(statements) :]]


@pytest.fixture(scope="module")
def one_after_the_other() -> dict[str, set[str]]:
    """What each brings to a process that has loaded those before it.

    Loading only adds: what all of them together do without, each does without.
    """
    there: set[str] = set()
    brought = {}
    for name, now in zip(IN_THIS_ORDER, loaded(*IN_THIS_ORDER.values()), strict=True):
        brought[name], there = now - there, now
    return brought


def test_help_loads_none_of_them() -> None:
    reported = "from volcano_py.cli.main import main\nmain(['--help'], standalone_mode=False)"

    assert loaded(reported) == [set()]


@pytest.mark.parametrize("verb", ASK_THE_CLUSTER)
def test_verbs_that_ask_the_cluster_do_without_the_schedulers_own(
    verb: str, one_after_the_other: dict[str, set[str]]
) -> None:
    assert one_after_the_other[verb].isdisjoint(OF_THE_SCHEDULER)


def test_the_client_does_without_them_too(one_after_the_other: dict[str, set[str]]) -> None:
    assert one_after_the_other["client"].isdisjoint(OF_THE_SCHEDULER)


def test_the_daemon_decides_before_it_loads_kopf_and_certificates(one_after_the_other: dict[str, set[str]]) -> None:
    """kopf comes when the first decisions have been made; certificates are for admission webhooks."""
    assert one_after_the_other["daemon"].isdisjoint({"cryptography", "kopf"})


def test_the_first_cycle_waits_for_nothing_that_it_can_do_without() -> None:
    """A daemon that starts with the default configuration, and places a gang."""
    answer = subprocess.run(
        [sys.executable, "-c", FIRST_CYCLE, *LATER], stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT
    )

    assert answer.stdout.splitlines() == ["2 placed", ""]


def test_the_generated_models_are_not_loaded_with_the_daemon() -> None:
    """There are 800 of them, and kubernetes_asyncio brings them all; it is loaded to read a kubeconfig, no earlier."""
    count = "import sys, volcano_py.daemon.daemon, volcano_py.cluster.kubernetes.lease\n"
    count += "print(sum(name.startswith('kubernetes_asyncio.') for name in sys.modules))"
    answer = subprocess.run([sys.executable, "-c", count], stdout=subprocess.PIPE, check=True, text=True)

    assert int(answer.stdout) == 0
