"""Asks a server for its binary log, as a replica does."""
