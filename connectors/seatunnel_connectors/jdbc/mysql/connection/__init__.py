"""Connections to MySQL and MariaDB, their types and their names."""
