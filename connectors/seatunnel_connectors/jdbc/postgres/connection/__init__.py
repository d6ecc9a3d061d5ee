"""Connects to PostgreSQL, and reads its catalog, types and locks."""
