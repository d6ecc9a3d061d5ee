"""Reads and writes PostgreSQL: binary COPY through ADBC in both directions, psycopg for catalog, DDL and the ledger."""
