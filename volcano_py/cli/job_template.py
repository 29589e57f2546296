"""`volcano-py jobtemplate`: templates that JobFlows create Jobs from, in the words of vcctl."""

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
from volcano_py.jobs.flows.model import FLOW_API, TEMPLATE_KIND, JobTemplate

EPILOG: Final = """\b
Examples:
  volcano-py jobtemplate create -f templates.yaml
  volcano-py jobtemplate list
  volcano-py jobtemplate get train -o yaml
  volcano-py jobtemplate describe train
  volcano-py jobtemplate delete -f templates.yaml
"""


@click.group(epilog=EPILOG)
def jobtemplate() -> None:
    """Create, show and delete JobTemplates, the steps of JobFlows."""


def describe(out: Console, found: JsonObject, now: float) -> None:
    """Print what there is to know of a template.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    template = msgspec.convert(found, JobTemplate)
    print_facts(out, rows.template_facts(template, now))
    print_section(out, rows.TASK_HEADER, rows.template_task_rows(template))


add_verbs(
    jobtemplate,
    KindView(
        kind=ObjectKind("jobtemplate", FLOW_API, TEMPLATE_KIND),
        header=rows.TEMPLATE_HEADER,
        row=rows.template_row,
        state_column=rows.TEMPLATE_STATE_COLUMN,
        numbers=rows.TEMPLATE_NUMBERS,
        describe=describe,
    ),
)
