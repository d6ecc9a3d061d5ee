"""Implements DES_ENCRYPT and DES_DECRYPT: Spark has no DES, so these two run in Python, as SeaTunnel's own user
functions do."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCK = 8
VECTOR = b"12345678"  # SeaTunnel's; without it the two could not read one another's output
ENCRYPT, DECRYPT = "seatunnel_des_encrypt", "seatunnel_des_decrypt"


def encrypt(password: str | None, text: str | None) -> str | None:
    """Encrypt by DES in CBC mode with PKCS#5 padding, as base64. The key is the first 8 bytes of the password."""
    if password is None or text is None:
        return None
    data = text.encode()
    fill = BLOCK - len(data) % BLOCK
    work = _cipher(password).encryptor()
    return base64.b64encode(work.update(data + bytes([fill]) * fill) + work.finalize()).decode()


def decrypt(password: str | None, text: str | None) -> str | None:
    """Invert ``encrypt``. Raises ValueError for a text not made with this password."""
    if password is None or text is None:
        return None
    work = _cipher(password).decryptor()
    try:
        data: bytes = work.update(base64.b64decode(text, validate=True)) + work.finalize()
        fill = data[-1] if data else 0
        if not 1 <= fill <= BLOCK or data[-fill:] != bytes([fill]) * fill:
            raise ValueError
        return data[:-fill].decode()
    except ValueError:
        raise ValueError("DES_DECRYPT: the text was not encrypted with this password") from None


def register(session: SparkSession, query: str) -> None:
    """Register these functions in the session if the query, in Spark's dialect, calls them."""
    for name, function in ((ENCRYPT, encrypt), (DECRYPT, decrypt)):
        if name in query:
            session.udf.register(name, function, "string")


def _cipher(password: str) -> Any:
    try:
        from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
        from cryptography.hazmat.primitives.ciphers import Cipher, modes
    except ImportError:
        raise ValueError('DES wants the package cryptography: pip install "seatunnel-py[crypto]"') from None
    key = password.encode()
    if len(key) < BLOCK:
        raise ValueError(f"the password of DES is {len(key)} bytes long; it takes {BLOCK} or more")
    # Three times the same key is plain DES.
    return Cipher(TripleDES(key[:BLOCK] * 3), modes.CBC(VECTOR))
