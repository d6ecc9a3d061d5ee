"""Connects to MySQL and MariaDB, and maps their types and names."""
