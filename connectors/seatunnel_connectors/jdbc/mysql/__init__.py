"""MySQL and MariaDB: read through ConnectorX, written by LOAD DATA from our own memory, spoken to through PyMySQL."""
