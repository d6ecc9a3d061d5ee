"""Connectors that ship with seatunnel-py; each imports ``seatunnel_py.api`` and its own client library."""
