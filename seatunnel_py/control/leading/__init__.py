"""Decides which of several servers leads: the lease in the database, and the writes that need it."""
