"""The command line, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from seatunnel_py.cli.main import app
from tests.docs.site.markdown import code, plain, sentence, table

HEAD = (
    "# Command line\n\nEvery command has `--help`, which says the same. `--debug` with any command shows the traces of"
    " errors. The [exit codes](../production.md#exit-codes) are the same for all commands.\n"
)


def page() -> str:
    found = list(commands())
    rows = [[f"[`{name}`](#{_anchor(name)})", plain(_first(command))] for name, command in found]
    return "\n".join([HEAD, table(["command", "does"], rows), *(_section(name, command) for name, command in found)])


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its whole name, in the order of `--help`."""
    yield from _below("seatunnel", get_command(app))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    own = [_argument(one) for one in command.params if not _is_option(one)] if hasattr(command, "commands") else []
    for part, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _below(" ".join([name, *own, part]), inner)
    if not hasattr(command, "commands"):
        yield name, command


def _section(name: str, command: Any) -> str:
    shown = [one for one in command.params if not one.hidden]
    takes = ["[OPTIONS]"] if any(_is_option(one) for one in shown) else []
    usage = " ".join([name, *takes, *(_argument(one) for one in shown if not _is_option(one))])
    parts = [f"## {code(name)} {{ #{_anchor(name)} }}\n", f"```sh\n{usage}\n```\n", f"{_text(command)}\n"]
    if command.epilog:
        parts.append(f"{_example(command.epilog)}\n")
    if shown:
        rows = [[_name(one), sentence(plain(one.help or "")), _default(one)] for one in shown]
        parts.append(table(["argument or option", "meaning", "default"], rows))
    return "\n".join(parts)


def _is_option(one: Any) -> bool:
    return str(one.opts[0]).startswith("-")


def _argument(one: Any) -> str:
    name = f"{one.metavar or one.name.upper()}{'...' if one.nargs == -1 else ''}"
    return name if one.required else f"[{name}]"


def _name(one: Any) -> str:
    if not _is_option(one):
        return code(_argument(one).strip("[]"))
    value = "" if one.is_flag else f" {one.metavar or one.name.upper()}"
    return ", ".join(code(f"{spelt}{value}") for spelt in (*one.opts, *one.secondary_opts))


def _default(one: Any) -> str:
    if one.required:
        return "*required*"
    flag = getattr(one, "is_flag", False)
    return "" if one.default in (None, "", ()) or (flag and not one.default) else code(str(one.default))


def _first(command: Any) -> str:
    return str(command.help or "").split("\n\n")[0]


def _text(command: Any) -> str:
    return "\n\n".join(plain(paragraph) for paragraph in str(command.help or "").split("\n\n"))


def _example(epilog: str) -> str:
    before, _, line = epilog.partition("Example: ")
    return f"{plain(before)}\n\n```sh\n{line}\n```" if line else plain(epilog)


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
