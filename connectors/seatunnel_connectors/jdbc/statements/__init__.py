"""Sinks that write by statements, for databases whose drivers have nothing faster; a *flavor* is what differs."""
