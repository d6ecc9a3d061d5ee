"""Writes to MySQL and MariaDB: statements, LOAD DATA, and shadows."""
