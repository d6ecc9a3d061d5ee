"""Requests to a running job: cancel, savepoint, explain."""
