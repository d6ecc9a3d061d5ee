"""Talks to the server: slots, the replication connection with its feedback, and reading a slot through SQL."""
