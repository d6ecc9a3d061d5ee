"""Signs webhooks by the convention of Standard Webhooks: HMAC-SHA256 over id, time stamp and body. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"
KEY_BYTES_MIN, KEY_BYTES_MAX = 24, 64


def key_of(secret: str) -> bytes:
    """The key in a secret. Raises ValueError, without the text, for one that is not ``whsec_`` and base64."""
    if not secret.startswith(PREFIX):
        raise ValueError(f"it does not begin with {PREFIX}")
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"after {PREFIX} it is not base64") from None
    if not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise ValueError(f"its key has {len(key)} bytes, and needs {KEY_BYTES_MIN} to {KEY_BYTES_MAX}")
    return key


def signed(secrets: Sequence[str], id: str, timestamp: int, body: bytes) -> str:
    """The value of ``webhook-signature``: one signature for each secret, so that receivers can change theirs."""
    content = f"{id}.{timestamp}.".encode() + body
    made = (hmac.new(key_of(secret), content, hashlib.sha256).digest() for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(one).decode('ascii')}" for one in made)
