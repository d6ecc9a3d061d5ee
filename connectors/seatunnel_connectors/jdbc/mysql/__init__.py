"""Reads MySQL and MariaDB through ConnectorX, writes them with LOAD DATA from memory, and runs statements with
PyMySQL."""
