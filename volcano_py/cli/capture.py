"""`volcano-py capture`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from volcano_py.cli.options.captured import Source, source_options

EPILOG = """\b
Examples:
  volcano-py capture cluster.capture
  volcano-py capture --anonymize for-a-bug-report.capture
  volcano-py capture --from cluster.capture --anonymize for-a-bug-report.capture
  volcano-py simulate --from cluster.capture              # what the scheduler decides on it

The file has what decisions follow from at one moment. It has no Secrets, no environments and no commands, and of
annotations only the scheduler's. For histories, it has the newest events of workloads, queues and nodes. Nothing is
written to the cluster.
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option(
    "--anonymize",
    is_flag=True,
    help="Replace each name and label value by another one, the same everywhere; keep numbers.",
)
@source_options
def capture(file: Path, anonymize: bool, source: Source) -> None:
    """Write everything that scheduling decisions follow from into one compressed FILE (- is standard output).

    What you may not read is reported, with what follows from that, and noted in the file.
    """
    from volcano_py.capture.anonymous import anonymized
    from volcano_py.capture.file import written
    from volcano_py.cli.printing.output import log_aside

    log_aside()
    found = source.capture(with_events=True)
    content = written(anonymized(found) if anonymize else found)
    if str(file) == "-":
        sys.stdout.buffer.write(content)
        return
    try:
        file.write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    click.echo(f"{file}: {len(found.items)} objects of {found.moment}, {len(content)} bytes", err=True)
