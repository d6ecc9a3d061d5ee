"""Jdbc source and sink: relational databases, addressed by the JDBC URLs of SeaTunnel's users.

::

    factory, options, url        no client library; what ``check`` loads
    dialect                      the port between the generic part and a database
    source, sink, splits, modes  the generic part
    postgres/ sqlite/ mysql/     one package per database that has a fast path
    generic/                     every other database, through a SQLAlchemy URL
"""
