"""Where the server's database is: a SQLite file, or a schema of PostgreSQL."""
