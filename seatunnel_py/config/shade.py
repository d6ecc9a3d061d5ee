"""Handles secrets in job files: encrypted values, references to secrets, and masking.

*Encrypted*: ``env.shade.identifier`` names a cipher which decrypts the sensitive options of every step. ``base64``
exists for compatibility and hides nothing. Other ciphers come from packages, through the entry-point group
``seatunnel_py.secrets``.

*By reference*, which is better: ``${env:NAME}`` and ``${file:path}`` are replaced when a step's options are made, only
in the value that holds them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from seatunnel_py.config.tree import Node, Scalar
from seatunnel_py.errors import JobFileError, Problem, SeaTunnelError
from seatunnel_py.redaction import MASK, is_secret, is_sensitive, keep_secret, redacted_text, secrets_in

GROUP = "seatunnel_py.secrets"
SENSITIVE_OPTIONS = ("password", "username", "auth", "token")
"""Options that are encrypted; a cipher may add to them."""


@runtime_checkable
class Cipher(Protocol):
    """Interface of the ciphers in the entry-point group ``seatunnel_py.secrets``.

    The entry point is a callable without arguments that makes one. ``decrypt`` must invert ``encrypt`` and may raise
    ``ValueError`` for a text that ``encrypt`` never made; the text must not be in the message. A cipher with settings
    also has ``open(properties)``, called first with ``env.shade.properties``.
    """

    @property
    def identifier(self) -> str:
        """The value of ``env.shade.identifier`` that selects this cipher."""

    @property
    def sensitive_options(self) -> tuple[str, ...]:
        """Names of options to decrypt beside the usual ones."""

    def encrypt(self, text: str) -> str:
        """Return the text as written into a job file."""

    def decrypt(self, text: str) -> str:
        """Return the text for the plugin."""


@dataclass(frozen=True, slots=True)
class PlainText:
    """No encryption."""

    identifier: str = "default"
    sensitive_options: tuple[str, ...] = ()

    def encrypt(self, text: str) -> str:
        """Return the text itself."""
        return text

    def decrypt(self, text: str) -> str:
        """Return the text itself."""
        return text


@dataclass(frozen=True, slots=True)
class Base64:
    """Base64 of UTF-8: an encoding, not encryption."""

    identifier: str = "base64"
    sensitive_options: tuple[str, ...] = ()

    def encrypt(self, text: str) -> str:
        """Encode the text in base64."""
        return base64.b64encode(text.encode()).decode("ascii")

    def decrypt(self, text: str) -> str:
        """Decode the text."""
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError, ValueError):
            raise ValueError("not base64 text") from None


def cipher(identifier: str, properties: Mapping[str, str] | None = None) -> Cipher:
    """Open the cipher of that name. Raises ``SeaTunnelError`` with the available ones."""
    for known in (PlainText(), Base64()):
        if known.identifier == identifier.strip().lower():
            return known
    from importlib.metadata import entry_points  # costs 60 ms, which most jobs need not spend

    installed = {point.name: point for point in entry_points(group=GROUP)}
    if identifier in installed:
        made: Cipher = installed[identifier].load()()
        if hasattr(made, "open"):
            made.open(dict(properties or {}))
        return made
    names = ", ".join(["default", "base64", *sorted(installed)])
    raise SeaTunnelError(f"no cipher {identifier!r} is installed", f"Known are: {names}.")


_COLUMNS = frozenset({"schema", "fields", "columns", "rows"})
"""Below these names an option called ``password`` is a column of the data."""


def decrypted(options: Node, using: Cipher, more: Collection[str] = ()) -> Node:
    """Decrypt every sensitive option of a step, at any depth. ``more``: ``env.shade.options``."""
    return _converted(options, using, using.decrypt, more)


def encrypted(options: Node, using: Cipher, more: Collection[str] = ()) -> Node:
    """Invert ``decrypted``."""
    return _converted(options, using, using.encrypt, more)


def _converted(options: Node, using: Cipher, convert: Callable[[str], str], more: Collection[str]) -> Node:
    if isinstance(using, PlainText):
        return options
    sensitive = {*SENSITIVE_OPTIONS, *using.sensitive_options, *more}
    problems: list[Problem] = []

    def change(path: str, node: Node) -> Scalar:
        names = path.split(".")
        is_secret = path in more or (_COLUMNS.isdisjoint(names) and (path in sensitive or names[-1] in sensitive))
        if node.value is None or not is_secret or REFERENCE.search(str(node.value)):
            return _scalar(node)
        try:
            return convert(str(node.value))
        except ValueError:
            message = f"cannot be decrypted by {using.identifier!r}"
            problems.append(node.place.problem(message, path=path, remedy="Encrypt it, or remove shade.identifier."))
            return None

    result = options.mapped(change)
    if problems:
        raise JobFileError(tuple(problems))
    return result


# ---------------------------------------------------------------- secrets by reference

REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Secrets:
    """Looks up ``${env:NAME}`` and ``${file:path}``. Files are read only below ``directories``."""

    environment: Mapping[str, str] = field(repr=False)
    directories: tuple[Path, ...] = ()
    bytes_max: int = 64 * 1024

    def revealed(self, options: Node) -> tuple[Node, frozenset[str], tuple[Problem, ...]]:
        """Return options with references replaced, the secrets inserted, and the references not found."""
        secrets: set[str] = set()
        problems: list[Problem] = []

        def change(path: str, node: Node) -> Scalar:
            if not isinstance(node.value, str) or "${" not in node.value:
                return _scalar(node)

            def replacement(match: re.Match[str]) -> str:
                try:
                    secret = self.reveal(match[1], match[2].strip())
                except LookupError as error:
                    problems.append(node.place.problem(str(error.args[0]), path=path))
                    return ""
                secrets.add(secret)
                return secret

            return REFERENCE.sub(replacement, node.value)

        revealed = options.mapped(change)
        keep_secret(secrets)
        return revealed, frozenset(secrets - {""}), tuple(problems)

    def reveal(self, scheme: str, name: str) -> str:
        """Return one secret. Raises ``LookupError`` with a message that holds only its name."""
        if scheme == "env":
            if name not in self.environment:
                raise LookupError(f"environment variable {name!r} is not set")
            return self.environment[name]
        return self._from_file(name)

    def _from_file(self, name: str) -> str:
        if "\0" in name or not self.directories:
            raise LookupError("secrets are not read from files here")
        path = (self.directories[0] / name).resolve()
        if not any(path.is_relative_to(directory.resolve()) for directory in self.directories):
            raise LookupError(
                f"{name!r} is outside the job file's directory and SEATUNNEL_SECRETS_DIR, the only places of secrets"
            )
        try:
            with path.open("rb") as file:
                data = file.read(self.bytes_max + 1)
        except OSError as error:
            raise LookupError(f"secret file {name!r} cannot be read: {error.strerror}") from None
        if len(data) > self.bytes_max:
            raise LookupError(f"secret file {name!r} is larger than {self.bytes_max} bytes")
        try:
            return data.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise LookupError(f"secret file {name!r} is not UTF-8 text") from None


# ---------------------------------------------------------------- redaction


def redacted(options: Node, more: Collection[str] = ()) -> Node:
    """Return a tree in which every value that may be a secret is masked; references to secrets stay readable. ``more``:
    ``env.shade.options``."""

    def change(path: str, node: Node) -> Scalar:
        value = _scalar(node)
        if value is None or isinstance(value, bool):
            return value
        secret = is_sensitive(path) or path in more or path.rpartition(".")[2] in more
        if secret and not REFERENCE.fullmatch(str(value)):
            return MASK
        return redacted_text(value) if isinstance(value, str) else value

    return options.mapped(change)


def secrets_of(options: Node, more: Collection[str] = ()) -> Iterator[str]:
    """Values of options that are secret by name, and the passwords in URLs."""
    for _, _, secrets in _secret_leaves(options, more):
        yield from secrets


def literal_secrets(options: Node, more: Collection[str] = ()) -> Iterator[tuple[str, Node]]:
    """The options whose secrets are written out, by path: no reference and no variable stands for them."""
    for path, node, secrets in _secret_leaves(options, more):
        if any(_VARIABLE.sub("", secret).strip() for secret in secrets):
            yield path, node


_VARIABLE = re.compile(r"\$\{[^}]*\}?")  # an address ends at some characters of a variable


def _secret_leaves(options: Node, more: Collection[str]) -> Iterator[tuple[str, Node, tuple[str, ...]]]:
    for path, node in options.leaves():
        names = path.split(".")
        named = path in more or names[-1] in more or (is_secret(path) and _COLUMNS.isdisjoint(names))
        if isinstance(node.value, bool) or REFERENCE.search(str(node.value)):
            continue  # revealing a reference registers its value
        if named and isinstance(node.value, str | int):
            yield path, node, (str(node.value),)
        elif isinstance(node.value, str):
            yield path, node, tuple(secrets_in(node.value))


def _scalar(node: Node) -> Scalar:
    return None if isinstance(node.value, dict | list) else node.value
