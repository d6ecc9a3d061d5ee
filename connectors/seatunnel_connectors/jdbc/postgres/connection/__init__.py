"""Connections to PostgreSQL, its catalog, types and locks."""
