"""Applies the differences of a partial JSON update to the document before it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.rows.json_binary import JsonTree, json_tree

_REPLACE, _INSERT, _REMOVE = 0, 1, 2
_LEG = re.compile(r'\.(?:"((?:[^"\\]|\\.)*)"|([^.\[\]"\s]+))|\[(\d+)\]')


def apply_diffs(document: JsonTree, diffs: bytes) -> JsonTree:
    """The document after the operations: each replaces, inserts or removes the value at a path."""
    reader = ByteReader(diffs, "a partial JSON update")
    while reader.left:
        operation = reader.u8()
        path = reader.counted()
        if operation > _REMOVE:
            raise BinlogFormatError(f"a partial JSON update has the unknown operation {operation}")
        value = None if operation == _REMOVE else json_tree(reader.counted())
        legs = _legs(path)
        if not legs:
            if operation != _REPLACE or value is None:
                raise BinlogFormatError("a partial JSON update removes the whole document")
            document = value
            continue
        _change(_parent(document, legs, path), legs[-1], operation, value, path)
    return document


def _legs(path: bytes) -> list[str | int]:
    try:
        text = path.decode()
    except UnicodeDecodeError:
        raise BinlogFormatError(f"a partial JSON update has the path {path!r}") from None
    found: list[str | int] = []
    at = 1
    while text[:1] == "$" and at < len(text):
        match = _LEG.match(text, at)
        if match is None:
            break
        quoted, plain, index = match.groups()
        try:
            found.append(int(index) if index is not None else plain or json.loads(f'"{quoted}"'))
        except ValueError:
            break
        at = match.end()
    if text[:1] != "$" or at < len(text):
        raise BinlogFormatError(f"a partial JSON update has the path {text!r}")
    return found


def _parent(document: JsonTree, legs: Sequence[str | int], path: bytes) -> JsonTree:
    for leg in legs[:-1]:
        found = _member(document, leg)
        if found is None:
            raise _missing(path)
        document = found
    return document


def _member(document: JsonTree, leg: str | int) -> JsonTree | None:
    if isinstance(document, dict):
        return document.get(leg) if isinstance(leg, str) else None
    if isinstance(document, list) and isinstance(leg, int) and leg < len(document):
        return document[leg]
    return None


def _missing(path: bytes) -> BinlogFormatError:
    return BinlogFormatError(f"a partial JSON update leads to {path.decode()!r}, which the document before has not")


def _change(parent: JsonTree, leg: str | int, operation: int, value: JsonTree | None, path: bytes) -> None:
    if isinstance(parent, dict) and isinstance(leg, str):
        if (leg in parent) == (operation == _INSERT):
            raise _missing(path)
        if value is None:
            del parent[leg]
            return
        parent[leg] = value
        if operation == _INSERT:
            _sort(parent)
    elif isinstance(parent, list) and isinstance(leg, int):
        if operation == _INSERT and value is not None:
            parent.insert(leg, value)
        elif leg >= len(parent):
            raise _missing(path)
        elif value is None:
            del parent[leg]
        else:
            parent[leg] = value
    else:
        raise _missing(path)


def _sort(found: dict[str, JsonTree]) -> None:
    """The server keeps keys by length, then by bytes."""
    for key in sorted(found, key=lambda one: (len(one.encode()), one.encode())):
        found[key] = found.pop(key)
