"""The server's settings file: its blocks, and the database that it names."""
