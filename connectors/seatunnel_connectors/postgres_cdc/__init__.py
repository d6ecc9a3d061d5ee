"""Change data capture from PostgreSQL: decodes logical replication, and holds the connection that it comes from.

``pgoutput`` is pure: bytes in, Arrow out. ``replication`` talks to the server. Both wait for the source of issue 25,
``Postgres-CDC``, which will be their only caller in the product; until then only tests and a benchmark reach them.
"""
