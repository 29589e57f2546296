"""`volcano-py completion`: what a shell has to run so that it completes verbs and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

_PROGRAM: Final = "volcano-py"
# As click derives it from the program's name.
_VARIABLE: Final = "_VOLCANO_PY_COMPLETE"

EPILOG = """\b
Examples:
  volcano-py completion bash > ~/.local/share/bash-completion/completions/volcano-py
  volcano-py completion zsh > ~/.zfunc/_volcano-py
  volcano-py completion fish > ~/.config/fish/completions/volcano-py.fish

The shell then asks volcano-py itself what may come next.
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script by which a shell completes verbs and options."""
    kind = get_completion_class(shell)
    assert kind is not None, f"click completes in {shell}"
    click.echo(kind(ctx.find_root().command, {}, _PROGRAM, _VARIABLE).source())
