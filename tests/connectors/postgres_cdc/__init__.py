"""Tests of change data capture from PostgreSQL."""
