"""Parses, checks and analyses the SQL dialect of job files."""
