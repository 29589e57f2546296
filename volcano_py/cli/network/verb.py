"""`volcano-py topology`."""

from __future__ import annotations

import click

from volcano_py.cli.options.captured import Source, source_options
from volcano_py.cli.printing.output import console, output_option, print_data

EPILOG = """\b
Examples:
  volcano-py topology tree                                   # the cluster of your kubeconfig
  volcano-py topology tree --output json
  volcano-py topology tree --from cluster.capture
  volcano-py topology tree --from nodes.yaml --from hypernodes.yaml

A cluster's tree is computed from its HyperNodes, nodes, PodGroups and pods, which you must be allowed to list.
Nothing is written.
"""


@click.group()
def topology() -> None:
    """Show the network: the tree of HyperNodes."""


@topology.command(epilog=EPILOG)
@source_options
@output_option()
def tree(source: Source, output: str) -> None:
    """Draw the tree of HyperNodes: nodes, room for each resource, and the jobs in each domain.

    A job is shown at the smallest domain that all its placed pods are in. What is wrong with the tree is listed
    below it.
    """
    from volcano_py.cli.network.sources import of_capture, of_cluster

    found = of_capture(source.capture()) if source.files else of_cluster(source)
    if output == "table":
        from volcano_py.cli.network.drawing import drawing

        console().print(drawing(found))
    else:
        print_data(found.as_json(), output)
