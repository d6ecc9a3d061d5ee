"""Defines the commands of the server: ``server``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seatunnel_py.cli.arguments import AsJson

server_app = typer.Typer(no_args_is_help=True, help="The server: jobs over HTTP.")
token_app = typer.Typer(no_args_is_help=True, help="Tokens that open the server.")
server_app.add_typer(token_app, name="token")
PORT = 5801  # as `ServerSettings.port`, which needs no import here


@server_app.command("run", epilog="Example: seatunnel server run --port 5801")
def server_run(
    host: Annotated[
        str, typer.Option(help="the address to listen at; others than this machine need TLS or a proxy")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any free one")] = PORT,
    tls_certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="in PEM, with its chain")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="the key of the certificate")] = None,
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="a proxy that speaks TLS; its X-Forwarded headers count; may be repeated"),
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="a further name of this server; may be repeated")
    ] = None,
    allowed_env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="a variable of its environment that job files may refer to; may be repeated"),
    ] = None,
) -> None:
    """Serve the jobs of SEATUNNEL_HOME over HTTP.

    Nothing without a token: the first start writes one into a private file, and names it. Jobs are processes of their
    own, and go on when the server ends.
    """
    from seatunnel_py.cli.server import serving as command

    names = (tuple(behind_proxy or ()), tuple(allowed_host or ()), tuple(allowed_env or ()))
    request = command.ServerRequest(host, port, tls_certificate, tls_key, *names)
    raise typer.Exit(command.run(request))


@token_app.command("create", epilog="Example: seatunnel server token create grafana --role read --to grafana.token")
def token_create(
    name: Annotated[str, typer.Argument(help="what it is for")],
    role: Annotated[
        str, typer.Option(help="read, operate, edit or admin; each has the rights of those before")
    ] = "read",
    days: Annotated[float, typer.Option(min=0.01, help="how long it is valid")] = 90.0,
    data: Annotated[bool, typer.Option("--data", help="it may see values of rows")] = False,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write it into this new, private file; `-` prints it")
    ] = None,
) -> None:
    """Make a token, which is shown once.

    On a terminal it is printed. Else a file must be named, for output often ends in a log.
    """
    from seatunnel_py.cli.server import tokens as command

    raise typer.Exit(command.create(name, role, days, to, data=data))


@token_app.command("list", epilog="Example: seatunnel server token list --json")
def token_list(as_json: AsJson = False) -> None:
    """All tokens, without their texts."""
    from seatunnel_py.cli.server import tokens as command

    raise typer.Exit(command.listing(as_json=as_json))


@token_app.command("revoke", epilog="Example: seatunnel server token revoke grafana")
def token_revoke(
    token: Annotated[str, typer.Argument(help="its id or name, as `seatunnel server token list` shows it")],
) -> None:
    """End a token, within a second."""
    from seatunnel_py.cli.server import tokens as command

    raise typer.Exit(command.revoke(token))
