"""`volcano-py manifests`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, Literal

import click

EPILOG = """\b
Examples:
  volcano-py manifests --image registry.example.com/volcano-py:0.1.0 | kubectl apply --server-side -f -
  volcano-py manifests crds > crds.yaml
  volcano-py manifests --directory volcano-py             # all files, with the overlays and the Helm chart
  kubectl apply -k volcano-py/manifests/overlays/admission
"""

FOLDERS: Final[tuple[Literal["crds", "manifests", "charts"], ...]] = ("crds", "manifests", "charts")


@click.command(epilog=EPILOG)
@click.argument("part", type=click.Choice(("all", "crds", "base")), default="all")
@click.option("--image", default="", help="Image of the Deployment. [default: volcano-py:VERSION, in no registry]")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the files themselves into this new folder instead: kustomizations, overlays and the Helm chart.",
)
def manifests(part: str, image: str, directory: Path | None) -> None:
    """Print the manifests that come with this version: PART is all, crds, or base (all but the CRDs)."""
    if directory is not None:
        if image or part != "all":
            raise click.UsageError("--directory writes all files as they are: leave out PART and --image")
        _copy(directory)
        return
    from volcano_py.cli.installing.rendering import manifests as of_part
    from volcano_py.cli.installing.rendering import rendered

    click.echo(rendered(of_part(part, image=image)), nl=False)


def _copy(directory: Path) -> None:
    from volcano_py.shipped import shipped

    if directory.exists():
        raise click.ClickException(f"{directory} exists already; name a new folder")
    try:
        for folder in FOLDERS:
            shutil.copytree(shipped(folder), directory / folder)
    except OSError as error:
        raise click.ClickException(f"{directory}: {error.strerror or error}") from error
    click.echo(f"{directory}: {', '.join(FOLDERS)}", err=True)
