"""`volcano-py`: the group of verbs. A verb's module is imported only when the verb is used, so that help is instant."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Verb → (module, attribute, one line for the overview).
VERBS: Final[Mapping[str, tuple[str, str, str]]] = {
    "run": ("volcano_py.cli.processes.run", "run", "Run the scheduler daemon."),
    "admission": (
        "volcano_py.cli.processes.admission",
        "admission",
        "Answer admission webhooks in a separate process.",
    ),
    "up": ("volcano_py.cli.processes.up", "up", "Try everything on a local control plane."),
    "simulate": ("volcano_py.cli.simulate", "simulate", "Run the scheduler in memory, over manifests or a copy."),
    "capture": ("volcano_py.cli.capture", "capture", "Write a copy of a cluster into a file, for the verbs that try."),
    "what-if": ("volcano_py.cli.what_if", "what_if", "Try changes on a copy of a cluster, and print what differs."),
    "replay": ("volcano_py.cli.records.replay", "replay", "Replay a daemon's record, and compare its decisions."),
    "history": ("volcano_py.cli.records.history", "history", "Show what a record has of a PodGroup or a queue."),
    "queue": ("volcano_py.cli.queue", "queue", "Create, show, open and close queues; draw their tree."),
    "topology": ("volcano_py.cli.network.verb", "topology", "Draw the tree of HyperNodes, with room and jobs."),
    "job": ("volcano_py.cli.job", "job", "Run, show, suspend, resume and delete Volcano Jobs."),
    "jobflow": ("volcano_py.cli.job_flow", "jobflow", "Create, show and delete JobFlows."),
    "jobtemplate": ("volcano_py.cli.job_template", "jobtemplate", "Create, show and delete JobTemplates."),
    "cronjob": ("volcano_py.cli.flows.cron_jobs", "cronjob", "Create, show, suspend and delete CronJobs of Jobs."),
    "pod": ("volcano_py.cli.pods.commands", "pod", "List pods, their queues and why they wait."),
    "podgroup": ("volcano_py.cli.pod_groups", "podgroup", "List PodGroups and why they wait."),
    "explain": ("volcano_py.cli.explaining.verb", "explain", "Say why a workload waits, and what would help."),
    "evictions": ("volcano_py.cli.pods.evictions", "evictions", "List what was evicted, and for which pod."),
    "ui": ("volcano_py.cli.processes.ui", "ui", "Show a cluster in the browser."),
    "config": ("volcano_py.cli.config", "config", "Check a volcano-scheduler.conf, or try it out."),
    "migrate": ("volcano_py.cli.installing.migrate", "migrate", "Move a cluster over from Volcano: check, and plan."),
    "manifests": (
        "volcano_py.cli.installing.manifests",
        "manifests",
        "Print the manifests and CRDs of this version.",
    ),
    "dump": ("volcano_py.cli.dump", "dump", "Write the live state of a daemon for a bug report."),
    "bench": ("volcano_py.cli.bench", "bench", "Measure how fast the scheduler decides."),
    "completion": ("volcano_py.cli.completion", "completion", "Complete verbs, options and names in your shell."),
}

NOT_IN_THE_IMAGE: Final = frozenset({"volcano_py.local", "volcano_py.bench"})
"""What creates a control plane to try or measure on: see .dockerignore."""

GARBAGE_AT_THE_START: Final = (500_000, 20, 20)
"""New containers until the young ones are looked at (by default 700), and such looks until the older and the oldest."""

EPILOG: Final = """\b
Examples:
  volcano-py simulate --filename examples/sample
  volcano-py config check volcano-scheduler.conf
  volcano-py up --once
  volcano-py run --kubeconfig ~/.kube/config --leader-elect=false
"""


class Verbs(click.Group):
    """Finds verbs in the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in VERBS:
            return None
        # A verb keeps what it loads and reads until it ends: looking for garbage in that took a tenth of the CPU of a
        # short verb. Those that last set other thresholds themselves.
        gc.set_threshold(*GARBAGE_AT_THE_START)
        module, attribute, _ = VERBS[name]
        try:
            command: click.Command = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name not in NOT_IN_THE_IMAGE:
                raise
            return _left_out(name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a shell asks at each Tab: the table has the verbs, and none of their modules is imported."""
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=text) for name, (_, _, text) in VERBS.items() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in VERBS.items()])


def _left_out(name: str) -> click.Command:
    """A verb that only says why it is not there, whatever is asked of it."""

    def refuse(**_: object) -> NoReturn:
        raise click.ClickException(
            f"{name} needs the local control plane, which the image does not have. Install the program from its source "
            f"with `pip install .`, outside of a cluster, and run `volcano-py {name}` there."
        )

    rest = click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name, params=[rest], callback=refuse, add_help_option=False, context_settings={"ignore_unknown_options": True}
    )


@click.group(
    cls=Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(package_name="volcano-py", prog_name="volcano-py")
def main(**_: Any) -> None:
    """A batch scheduler for Kubernetes, drop-in for the Volcano scheduler."""


def kubectl_completion() -> None:
    """The program `kubectl_complete-volcano`, which kubectl asks what may follow `kubectl volcano …`.

    Its answer is that of Cobra, kubectl's library for commands: a line for each word, and last what the shell does
    besides: 0, complete files; 4, nothing.
    """
    from click.shell_completion import ShellComplete

    *before, incomplete = sys.argv[1:] or [""]
    files = False
    for item in ShellComplete(main, {}, "kubectl volcano", "").get_completions(before, incomplete):
        if item.type == "plain":
            click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
        else:
            files = True
    click.echo(f":{0 if files else 4}")


def kubectl_plugin() -> None:
    """The program `kubectl-volcano`, which kubectl runs as `kubectl volcano`."""
    main(prog_name="kubectl volcano")
