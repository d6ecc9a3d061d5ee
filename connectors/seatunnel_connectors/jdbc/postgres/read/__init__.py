"""Describes and reads tables of PostgreSQL."""
