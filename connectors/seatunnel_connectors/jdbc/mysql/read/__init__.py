"""Describes and reads tables of MySQL and MariaDB."""
