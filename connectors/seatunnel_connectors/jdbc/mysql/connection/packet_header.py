"""The header of a packet in MySQL's protocol: three bytes of length, and the packet's number."""

from __future__ import annotations

from struct import Struct

HEADER_BYTES = 4
LENGTH = Struct("<I")
FULL = (1 << 24) - 1
"""The largest length, which is also the mask of a header: a packet of this size goes on in the next one."""
CHUNK_BYTES = 1 << 18  # received at a time
