"""Reads and writes relational databases (the Jdbc source and sink), addressed by JDBC URLs as in SeaTunnel.

::

    factory, options, url     no client library; loaded by ``check``
    dialect                   the port between the shared part and a database
    source/ target/           the shared part: finds and divides tables, plans targets
    statements/               sinks that write by statements, for all databases except PostgreSQL
    postgres/ sqlite/ mysql/  one package per database with a fast path
    generic/                  every other database, through a SQLAlchemy URL
"""
