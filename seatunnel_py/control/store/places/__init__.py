"""The places of the server's database: a SQLite file, or a schema of PostgreSQL."""
