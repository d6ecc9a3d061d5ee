"""Links that log a person in once: the code stands after the ``#``, so that no server, proxy or log gets it.

A link is for the user of the machine who may read the file of a token; the session has the rights of this token.
"""

from __future__ import annotations

from pathlib import Path

from seatunnel_py.control.store import sessions, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.errors import SeaTunnelError

MINUTES = int(sessions.CODE_SECONDS // 60)


def login_link(database: Database, url: str, token_file: Path, by: str, now: float) -> str:
    """A new link for the token in this file. Raises SeaTunnelError if it has no valid one."""
    try:
        text = token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has no text"
        raise SeaTunnelError(f"cannot read the token in {token_file}: {why}", _REMEDY) from None
    with database.acting(Act(by, "login-link.create", token_file.name)) as write:
        token = tokens.verified(write.connection, text, now)
        if token is None:
            raise SeaTunnelError(f"the token in {token_file} is wrong, expired or revoked", _REMEDY)
        write.note(object=token.id)
        code = sessions.new_code(write.connection, token, by, now)
    return f"{url}/#login={code}"


_REMEDY = (
    "`seatunnel server token create NAME --role admin --to FILE` makes one, and `seatunnel server login-link "
    "--token-file FILE` a link for it"
)
