"""Reads and writes relational databases (the Jdbc source and sink), addressed by JDBC URLs as in SeaTunnel.

::

    factory, options, url     no client library; loaded by ``check``
    dialect                   the port to a database
    source/ target/           finds and divides tables, plans targets
    statements/               sinks by statements, except for PostgreSQL
    postgres/ sqlite/ mysql/  databases with a fast path
    generic/                  other databases, by SQLAlchemy
"""
