"""``dualtape completion``: shell completion of the command."""

from __future__ import annotations

import argparse

_BASH = """_dualtape() {{
    local words="{commands}"
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    [ "$COMP_CWORD" -eq 1 ] || words="$words $(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")"
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -F _dualtape dualtape
"""


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the lines for the shell's start-up file."""
    commands = _commands(parser)
    if shell in ("bash", "zsh"):
        cases = "\n".join(f'        {name}) words="{" ".join(options)}" ;;' for name, options in commands.items())
        text = _BASH.format(commands=" ".join(commands), cases=cases)
        return "autoload -U +X bashcompinit && bashcompinit\n" + text if shell == "zsh" else text
    lines = [f"complete -c dualtape -n __fish_use_subcommand -a '{' '.join(commands)}'"]
    for name, options in commands.items():
        for option in options:
            if option.startswith("--"):
                lines.append(f"complete -c dualtape -n '__fish_seen_subcommand_from {name}' -l {option[2:]}")
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {
                name: [option for each in sub._actions for option in each.option_strings]
                for name, sub in action.choices.items()
            }
    return {}
