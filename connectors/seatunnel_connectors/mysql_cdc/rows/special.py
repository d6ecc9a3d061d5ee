"""Builds columns of types whose bytes are shown in another form: uuid, inet4, inet6, geometry, vector."""

from __future__ import annotations

import ipaddress
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import RowCells
from seatunnel_connectors.mysql_cdc.rows.built import Build, Built, each

_SRID_FLAG = 0x20
_WKB_HEADER = 9
"""Bytes of the reference system's number, the byte order and the type."""
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")


def uuids(cells: RowCells) -> Built:
    return each(cells, lambda value: str(UUID(bytes=value.ljust(16, b"\0"))), pa.string())


def inet4(cells: RowCells) -> Built:
    return each(cells, lambda value: str(ipaddress.IPv4Address(value.ljust(4, b"\0"))), pa.string())


def inet6(cells: RowCells) -> Built:
    """IPv4 addresses inside of the new ones are written with dots, as the server does."""
    return each(cells, _inet6, pa.string())


def _inet6(value: bytes) -> str:
    address = ipaddress.IPv6Address(value.ljust(16, b"\0"))
    dotted = str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if address in _MAPPED:
        return f"::ffff:{dotted}"
    if address in _COMPATIBLE and int(address) > 0xFFFF:
        return f"::{dotted}"
    return str(address)


def geometries(cells: RowCells) -> Built:
    """PostGIS' form, as the Jdbc source reads it: WKB with the number of its reference system, if it has one."""
    return each(cells, _ewkb, pa.binary())


def _ewkb(value: bytes) -> bytes:
    if len(value) < _WKB_HEADER:
        raise ValueError(f"the bytes {value.hex()}, which are not a geometry")
    srid = value[:4]
    if not any(srid):
        return value[4:]
    return value[4:8] + bytes([_SRID_FLAG]) + srid + value[_WKB_HEADER:]


def vectors(kind: pa.DataType) -> Build:
    """Numbers of four bytes, one after the other."""

    def numbers(value: bytes) -> Any:
        if len(value) % 4:
            raise ValueError(f"{len(value)} bytes, which are not a vector")
        return np.frombuffer(value, "<f4").tolist()

    return lambda cells: each(cells, numbers, kind)
