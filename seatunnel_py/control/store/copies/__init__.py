"""Copies of the server's database: made while it is written to, and given back to SQLite or PostgreSQL."""
