"""The script that lets a shell complete commands, for a shell that is named."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from penstock.errors import ConfigurationError

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_SHOW, _INSTALL = "--show-completion", "--install-completion"


def gave_completion(args: Sequence[str]) -> bool:
    """Show or install the script where a shell is named; without one, Typer asks which it runs in.

    >>> gave_completion(["--show-completion"]), gave_completion(["run", "job.py"])
    (False, False)
    """
    if len(args) < 2 or args[0] not in (_SHOW, _INSTALL):
        return False
    shell = args[1]
    if shell not in SHELLS:
        raise ConfigurationError(
            f"there is no completion for '{shell}'. Write one of: {', '.join(SHELLS)}."
        )
    if args[0] == _SHOW:
        from typer.completion import get_completion_script  # type: ignore[attr-defined]

        variable = "_PENSTOCK_COMPLETE"
        script = get_completion_script(prog_name="penstock", complete_var=variable, shell=shell)
        typer.echo(script)
    else:
        from typer.completion import install  # type: ignore[attr-defined]

        _, path = install(shell=shell, prog_name="penstock", complete_var="_PENSTOCK_COMPLETE")
        typer.echo(f"Written to {path}. It takes effect in the next {shell} that is opened.")
    return True
