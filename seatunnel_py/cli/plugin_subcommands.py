"""The commands ``seatunnel plugins ...``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seatunnel_py.cli.arguments import AsJson

plugins_app = typer.Typer(no_args_is_help=True, help="Installed sources, transforms and sinks.")


@plugins_app.command("list", epilog="Example: seatunnel plugins list --json")
def plugins_list(as_json: AsJson = False) -> None:
    """All installed plugins."""
    from seatunnel_py.cli.commands import plugins as command

    raise typer.Exit(command.listing(as_json=as_json))


@plugins_app.command("show", epilog="Example: seatunnel plugins show Jdbc")
def plugins_show(
    name: Annotated[str, typer.Argument(help="as `seatunnel plugins list` names it")], as_json: AsJson = False
) -> None:
    """Options of a plugin: types, defaults, older names."""
    from seatunnel_py.cli.commands import plugins as command

    raise typer.Exit(command.show(name, as_json=as_json))


@plugins_app.command("schema", epilog="Example: seatunnel plugins schema --to job.schema.json")
def plugins_schema(to: Annotated[Path | None, typer.Option(metavar="FILE", help="write it there")] = None) -> None:
    """A JSON Schema of job files in JSON, for editors."""
    from seatunnel_py.cli.commands import plugins as command

    raise typer.Exit(command.schema(to))
