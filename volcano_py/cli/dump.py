"""`volcano-py dump`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

EPILOG = """\b
Examples:
  volcano-py dump > state.json
  kubectl -n volcano-system port-forward POD 8080         # POD: the leader, which the Lease names
  volcano-py dump --output-file state.json                # in another terminal
"""


@click.command(epilog=EPILOG)
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The daemon's --listen-address.")
@click.option("--output-file", type=click.Path(path_type=Path, dir_okay=False), help="[default: standard output]")
def dump(url: str, output_file: Path | None) -> None:
    """Write a daemon's live state (nodes, jobs, pods, queues, last cycle) as JSON, for a bug report.

    The daemon answers callers on its own machine only; use port-forward for one in a cluster.
    """
    import http.client
    import urllib.request

    address = f"{url.rstrip('/')}/dump"
    if not address.startswith(("http://", "https://")):
        raise click.ClickException(f"{url}: not an http address")
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            body = answer.read()
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: half an IPv6 address
        found = getattr(error, "reason", error)
        raise click.ClickException(
            f"{address}: {getattr(found, 'strerror', None) or found}; is the daemon running there? --url names its "
            "--listen-address, which volcano-py up shows after Metrics"
        ) from error
    if output_file is None:
        sys.stdout.buffer.write(body)
        return
    try:
        output_file.write_bytes(body)
    except OSError as error:
        raise click.ClickException(f"{output_file}: {error.strerror}") from error
