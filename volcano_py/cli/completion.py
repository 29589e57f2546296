"""`volcano-py completion`: the script that makes a shell complete verbs, options, and names of the cluster.

Shells ask `volcano-py` itself, in click's own way, and the script for bash is click's, too. Those for zsh and fish are
ours: with click's, zsh completes nothing at the second Tab of a session, as the autoloaded function then registers
another one instead, and fish ends descriptions at their first comma.
"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

_PROGRAM: Final = "volcano-py"
# As click derives it from the program's name.
_VARIABLE: Final = "_VOLCANO_PY_COMPLETE"

# The answer is three lines for each word: its kind, itself, and what it is for ("_": nothing).
_ZSH: Final = """\
#compdef volcano-py

_volcano_py_words() {
    local -a answer bare described
    local kind word text
    (( $+commands[volcano-py] )) || return 1
    answer=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) _VOLCANO_PY_COMPLETE=zsh_complete \\
        volcano-py)}")
    for kind word text in "${answer[@]}"; do
        case $kind in
            dir) _path_files -/ ;;
            file) _path_files ;;
            plain)
                if [[ $text == _ ]]; then
                    bare+=("$word")
                else
                    described+=("${word//:/\\\\:}:$text")
                fi
                ;;
        esac
    done
    (( $#described )) && _describe -V volcano-py described
    (( $#bare )) && compadd -V bare -a bare
}

case $zsh_eval_context[-1] in
    # a file in fpath: its text is the function that is called, at the first time and at all others
    loadautofunc|shfunc) _volcano_py_words "$@" ;;
    *) compdef _volcano_py_words volcano-py ;;
esac
"""

# The answer is a line for each word: its kind, a comma, itself, and after a tab what it is for.
_FISH: Final = """\
function _volcano_py_words
    set -l answer (env COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) _VOLCANO_PY_COMPLETE=fish_complete \\
        volcano-py)
    for line in $answer
        set -l parts (string split --max 1 , -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo $parts[2]
        end
    end
end

complete --no-files --command volcano-py --arguments "(_volcano_py_words)"
"""
_OURS: Final = {"zsh": _ZSH, "fish": _FISH}

EPILOG = """\b
Examples:
  volcano-py completion bash > ~/.local/share/bash-completion/completions/volcano-py
  volcano-py completion zsh > ~/.zfunc/_volcano-py
  volcano-py completion fish > ~/.config/fish/completions/volcano-py.fish

The shell then asks volcano-py itself what may come next. zsh looks in the folders of its fpath: write
fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc, so that it finds this file.
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete verbs, options, and names of the cluster."""
    kind = get_completion_class(shell)
    assert kind is not None, f"click completes in {shell}"
    click.echo(_OURS.get(shell) or kind(ctx.find_root().command, {}, _PROGRAM, _VARIABLE).source())
