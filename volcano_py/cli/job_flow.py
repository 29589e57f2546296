"""`volcano-py jobflow`: Jobs that follow one another, in the words of vcctl."""

from __future__ import annotations

from typing import Final

import click
import msgspec
from rich.console import Console

from volcano_py.api.effects import JsonObject
from volcano_py.cli.api_objects import ObjectKind
from volcano_py.cli.flows import rows
from volcano_py.cli.flows.verbs import KindView, add_verbs
from volcano_py.cli.jobs.viewing import print_facts, print_section
from volcano_py.jobs.flows.model import FLOW_API, FLOW_KIND, JobFlow

EPILOG: Final = """\b
Examples:
  volcano-py jobflow create -f weekly.yaml
  volcano-py jobflow list --all-namespaces --watch
  volcano-py jobflow get weekly
  volcano-py jobflow describe weekly
  volcano-py jobflow describe weekly -o yaml
  volcano-py jobflow delete weekly
"""


@click.group(epilog=EPILOG)
def jobflow() -> None:
    """Create, show and delete JobFlows."""


def describe(out: Console, found: JsonObject, now: float) -> None:
    """Print what there is to know of a flow.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    flow = msgspec.convert(found, JobFlow)
    print_facts(out, rows.flow_facts(flow, now))
    print_section(out, rows.STEP_HEADER, rows.step_rows(flow, now))


add_verbs(
    jobflow,
    KindView(
        kind=ObjectKind("jobflow", FLOW_API, FLOW_KIND),
        header=rows.FLOW_HEADER,
        row=rows.flow_row,
        state_column=rows.FLOW_STATE_COLUMN,
        numbers=rows.FLOW_NUMBERS,
        describe=describe,
    ),
)
