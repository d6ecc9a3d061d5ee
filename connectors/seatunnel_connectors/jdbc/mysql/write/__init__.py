"""Writes to MySQL and MariaDB with statements, LOAD DATA, and shadows."""
