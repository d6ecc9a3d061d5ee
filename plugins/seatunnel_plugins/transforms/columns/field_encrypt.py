"""FieldEncrypt: encrypts or decrypts text columns with AES."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from seatunnel_plugins.transforms.shared.batches import column, put
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    ColumnLineage,
    Determinism,
    Kind,
    Rejected,
    Secret,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    option,
)

BLOCK_BYTES = 16  # of AES, and of the initial vector in front of the encrypted text
KEY_BYTES = (16, 24, 32)


class Mode(StrEnum):
    ENCRYPT = "ENCRYPT"
    DECRYPT = "DECRYPT"


class FieldEncryptOptions(TransformOptions):
    fields: tuple[str, ...] = option(min_length=1, doc="text columns to encrypt or decrypt")
    key: Secret = option(doc="key in base64, of 16, 24 or 32 bytes; may start with `base64:`")
    algorithm: Literal["AES_CBC"] = option("AES_CBC", doc="cipher: CBC with PKCS#7 padding and a random initial vector")
    mode: Mode = option(Mode.ENCRYPT, doc="whether to encrypt or to decrypt")
    max_field_length: int = option(2**20, ge=1, doc="longest accepted text, in characters")


def key_bytes(key: Secret) -> bytes:
    """Decode the key. Raises ValueError, without showing the key, if it is invalid."""
    try:
        found = base64.b64decode(key.get_secret_value().strip().removeprefix("base64:"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("key: not base64") from None
    if len(found) not in KEY_BYTES:
        raise ValueError(f"key: {len(found)} bytes; AES takes 16, 24 or 32")
    return found


@dataclass(frozen=True, slots=True)
class FieldEncrypt(Transform):
    table: TableSchema
    options: FieldEncryptOptions

    def output(self) -> TableSchema:
        return self.table

    def column_lineage(self) -> ColumnLineage:
        masking = self.options.mode is Mode.ENCRYPT
        return computed(self.table, {name: [name] for name in self.options.fields}, masking=masking)

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        change = _encryptor(self.options) if self.options.mode is Mode.ENCRYPT else _decryptor(self.options)
        yield put(batch, self.table, {name: self._changed(batch, name, change) for name in self.options.fields})

    def _changed(self, batch: Batch, name: str, change: Callable[[str], str]) -> Any:
        import pyarrow as pa

        texts: list[str | None] = []
        for text in batch.data.column(name).to_pylist():
            # As in SeaTunnel, blank text stays unchanged.
            if text is None or not text.strip():
                texts.append(text)
                continue
            if len(text) > self.options.max_field_length:
                raise BadRowsError(
                    f"FieldEncrypt: table {batch.table}: a text of {len(text)} characters in field {name!r}",
                    "raise max_field_length",
                )
            try:
                texts.append(change(text))
            except ValueError as error:
                raise BadRowsError(
                    f"FieldEncrypt: table {batch.table}: field {name!r} holds a text that cannot be decrypted: {error}",
                    "check the key, and that the column was encrypted",
                ) from None
        return pa.array(texts, pa.string())


def _encryptor(options: FieldEncryptOptions) -> Callable[[str], str]:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    key = key_bytes(options.key)

    def encrypt(text: str) -> str:
        start = os.urandom(BLOCK_BYTES)
        padder, cipher = PKCS7(8 * BLOCK_BYTES).padder(), Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
        padded = padder.update(text.encode()) + padder.finalize()
        return base64.b64encode(start + cipher.update(padded) + cipher.finalize()).decode()

    return encrypt


def _decryptor(options: FieldEncryptOptions) -> Callable[[str], str]:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    key = key_bytes(options.key)

    def decrypt(text: str) -> str:
        content = base64.b64decode(text, validate=True)
        start, encrypted = content[:BLOCK_BYTES], content[BLOCK_BYTES:]
        if len(start) < BLOCK_BYTES or not encrypted or len(encrypted) % BLOCK_BYTES:
            raise ValueError("its length is wrong")
        cipher, padder = Cipher(algorithms.AES(key), modes.CBC(start)).decryptor(), PKCS7(8 * BLOCK_BYTES).unpadder()
        padded = cipher.update(encrypted) + cipher.finalize()
        return (padder.update(padded) + padder.finalize()).decode()

    return decrypt


class FieldEncryptFactory(TransformFactory[FieldEncryptOptions]):
    name = "FieldEncrypt"
    summary = "Encrypts or decrypts columns of text with AES"
    options = FieldEncryptOptions
    extra = "crypto"

    def capabilities(self, options: FieldEncryptOptions) -> TransformCapabilities:
        # A new initial vector each time: equal texts must not look equal.
        random = options.mode is Mode.ENCRYPT
        return TransformCapabilities(Determinism.INDETERMINATE if random else Determinism.DETERMINATE)

    def create(self, options: FieldEncryptOptions, table: TableSchema, context: StepContext) -> FieldEncrypt:
        import cryptography  # noqa: F401 - a missing library is to be found now, not in the first batch

        for name in options.fields:
            found = column(table, name, "fields")
            if found.dtype.kind is not Kind.STRING:
                raise ValueError(f"fields: {name!r} is a {found.dtype}; only text can be encrypted")
        key_bytes(options.key)
        return FieldEncrypt(table, options)
